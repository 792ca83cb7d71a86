"""From the command line to a run: reads the options, refuses what cannot be, registers the machinery.

Law: runs once, in `pytest_configure`, only when a host is named; asks no host anything. Every refusal is a
usage error that names option, value and what is allowed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash import fixtures, levels
from pytest_dflash.errors import UsageError
from pytest_dflash.facts import target
from pytest_dflash.facts.target import Target
from pytest_dflash.findings import AREAS
from pytest_dflash.gate import Gate
from pytest_dflash.host_run import RUNS, HostRun
from pytest_dflash.outcome import RunOutcome
from pytest_dflash.profile import loader
from pytest_dflash.reach import Reach
from pytest_dflash.report import folder


def activate(config: pytest.Config) -> None:
    """Registers hooks and fixtures for the named hosts.

    Raises:
        pytest.UsageError: An option asks for something that cannot be done. Nothing was run.
    """
    if config.option.help or config.option.version:
        return
    try:
        _activate(config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def _activate(config: pytest.Config) -> None:
    option = config.option
    targets = named_hosts(config)
    typed = typed_words(config)
    allowed = levels.parse(option.dflash_allow, typed)
    runs = host_runs(config, targets, allowed)
    config.stash[RUNS] = runs
    for area, about in AREAS.items():
        config.addinivalue_line("markers", f"{area}: {about}")
    manager = config.pluginmanager
    manager.register(fixtures, "dflash-fixtures")
    manager.register(Gate(runs, allowed), "dflash-gate")
    for run in runs.values():
        run.tell = Progress(config, run.name)
    if hasattr(config, "workerinput"):
        manager.register(Worker(config, runs), "dflash-worker")
        return
    if option.collectonly or option.dflash_plan:
        from pytest_dflash.plan import Plan  # noqa: PLC0415 - only for runs that touch nothing

        if option.dflash_plan:
            manager.register(Plan(runs, allowed), "dflash-plan")
        return
    directory = report_directory(config, targets)
    option.htmlpath = option.htmlpath or str(directory / "report.html")
    option.self_contained_html = True
    option.xmlpath = option.xmlpath or str(directory / "junit.xml")
    manager.register(RunOutcome(config, runs, allowed, directory, option.dflash_fault), "dflash-outcome")
    if manager.hasplugin("xdist"):
        from pytest_dflash.distribution import Distribution  # noqa: PLC0415 - xdist is not a dependency

        manager.register(Distribution(config, list(runs)), "dflash-distribution")


class Progress:
    """Tells on the terminal what a wait is about; silent in xdist workers, which have no terminal."""

    def __init__(self, config: pytest.Config, name: str) -> None:
        self.config = config
        self.name = name
        self.begun = time.monotonic()

    def __call__(self, line: str) -> None:
        """Prints a line of progress, with the seconds since the run began."""
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"{self.name} +{time.monotonic() - self.begun:.0f} s: {line}")


class Worker:
    """In an xdist worker: closes the hosts and hands what is known of them to the controller."""

    def __init__(self, config: pytest.Config, runs: dict[str, HostRun]) -> None:
        self.config = config
        self.runs = runs

    def pytest_sessionfinish(self) -> None:
        """Closes and hands over."""
        output: dict[str, Any] = {}
        for name, run in self.runs.items():
            run.close()
            if run.touched:
                output[name] = run.document()
        self.config.workeroutput["dflash_hosts"] = output  # type: ignore[attr-defined]  # xdist's own attribute


def named_hosts(config: pytest.Config) -> list[Target]:
    """The hosts of `--host`, refused together with testinfra's `--hosts`."""
    if config.getoption("hosts", None):
        raise UsageError(
            "--host and testinfra's --hosts name hosts twice; keep --host, which these suites use"
        )
    if not config.option.dflash_hosts:
        raise UsageError("--dflash-fault stages faults in the rehearsal; add --host=rehearsal")
    targets = list(target.parse_specs(config.option.dflash_hosts))
    rehearsing = any(each.scheme == "rehearsal" for each in targets)
    if config.option.dflash_fault and not rehearsing:
        raise UsageError(
            "--dflash-fault stages faults in the rehearsal only, never on a host; use --host=rehearsal"
        )
    return targets


def typed_words(config: pytest.Config) -> Sequence[str]:
    """The words of `--dflash-allow` that stand on the command line itself, not in addopts or the environment."""
    worker = getattr(config, "workerinput", None)
    arguments = worker["dflash_typed"] if worker else [str(each) for each in config.invocation_params.args]
    words: list[str] = []
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == "--dflash-allow":
            words += (value if equals else "".join(arguments[position + 1 : position + 2])).split(",")
    return [word.strip() for word in words]


def host_runs(
    config: pytest.Config, targets: Sequence[Target], allowed: levels.Allowed
) -> dict[str, HostRun]:
    """One run for each host and profile, named by the host, and by the unit too where there are several profiles."""
    option = config.option
    runs: dict[str, HostRun] = {}
    for each in targets:
        paths = profile_paths(config, each)
        reach = Reach(each, connection_options(option), tuple(option.dflash_fault))
        for path in paths:
            loaded = loader.load(path, host=each.name, expect=option.dflash_expect)
            label = each.name if len(paths) == 1 else f"{each.name}/{loaded.profile.service.unit}"
            if label in runs:
                raise UsageError(
                    f"--dflash-profile: {path} and another one are for the same unit on {each.name}"
                )
            key = loaded.profile.endpoint.api_key_env
            if key and not os.environ.get(key):
                raise UsageError(
                    f"{path}: endpoint.api_key_env: the variable {key} is not set here; export it first"
                )
            timeout = option.dflash_ready_timeout or loaded.profile.service.ready_timeout_s
            runs[label] = HostRun(label, reach, loaded, allowed, timeout)
    return runs


def connection_options(option: argparse.Namespace) -> dict[str, Any]:
    """Testinfra's options, as our connection takes them."""
    return {
        "ssh_config": option.ssh_config,
        "ssh_identity_file": option.ssh_identity_file,
        "sudo": bool(option.sudo),
        "sudo_user": option.sudo_user,
    }


def profile_paths(config: pytest.Config, host: Target) -> list[Path]:
    """Where the expectations are: command line, ini, dflash.toml in the rootdir; the rehearsal brings its own."""
    given = config.option.dflash_profile
    if given:
        return [config.invocation_params.dir / path for path in given]
    if host.scheme == "rehearsal":
        from pytest_dflash.rehearsal import host as rehearsal  # noqa: PLC0415 - only where it is played

        return [rehearsal.PROFILE]
    if config.getini("dflash_profile"):
        return [Path(path) for path in config.getini("dflash_profile")]
    path = config.rootpath / "dflash.toml"
    if path.exists():
        return [path]
    raise UsageError(
        f"no profile: {path} does not exist and --dflash-profile names none, so nothing is expected of "
        f"{host.name}; write one from what the host shows with --dflash-write-profile=dflash.toml"
    )


def report_directory(config: pytest.Config, targets: Sequence[Target]) -> Path:
    """Where the files go; made and tried now, so that a long run cannot end without its report."""
    if config.option.dflash_report_dir:
        return folder.prepare(config.invocation_params.dir / config.option.dflash_report_dir, latest=None)
    ini = config.getini("dflash_report_dir")
    if ini:
        base = config.inipath.parent if config.inipath else config.rootpath
        return folder.prepare(base / ini, latest=None)
    directory = folder.default(config.rootpath, [each.name for each in targets], datetime.now(tz=UTC))
    return folder.prepare(directory, latest=directory.parent / "latest")
