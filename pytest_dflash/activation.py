"""From the command line to a run: reads the options, refuses what cannot be, registers the machinery.

Law: runs once, in `pytest_configure`, only when a host is named; asks no host anything. Every refusal is a
usage error that names option, value and what is allowed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash import fixtures, levels, origins
from pytest_dflash.engines.registry import dialects
from pytest_dflash.errors import UsageError
from pytest_dflash.facts import connection, inventory, target
from pytest_dflash.facts.target import Target
from pytest_dflash.findings import AREAS
from pytest_dflash.gate import Gate
from pytest_dflash.header import Header
from pytest_dflash.host_run import RUNS, SAMPLES, HostRun
from pytest_dflash.lifecycle.allowance import Allowance
from pytest_dflash.outcome import RunOutcome
from pytest_dflash.plan import Plan
from pytest_dflash.profile import loader
from pytest_dflash.profile.loader import LoadedProfile
from pytest_dflash.publishing import Publishing
from pytest_dflash.reach import Reach
from pytest_dflash.report import document, folder, samples
from pytest_dflash.selection import Narrowing


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
    if sys.flags.optimize:
        raise UsageError(
            "PYTHONOPTIMIZE (python -O) switches assertions off, and a check that asserts could not fail; run without it"
        )
    targets = named_hosts(config)
    allowed = levels.parse(option.dflash_allow, origins.typed_words(config))
    compare = earlier(config)
    runs = host_runs(config, targets, allowed)
    config.stash[RUNS] = runs
    for area, about in AREAS.items():
        config.addinivalue_line("markers", f"{area}: {about}")
    manager = config.pluginmanager
    manager.register(fixtures, "dflash-fixtures")
    manager.register(Gate(runs, allowed), "dflash-gate")
    for run in runs.values():
        run.tell = Progress(config, run.name)
        run.compare = compare
    if hasattr(config, "workerinput"):
        manager.register(Worker(config, runs), "dflash-worker")
        keep_samples(runs, config.workerinput.get("dflash_samples"))
    elif touches_nothing(option):
        manager.register(Header(config, runs, allowed, None), "dflash-header")
        if option.dflash_plan:
            option.dist = "no"  # xdist would hand the tests out
            path, _ = origins.report_folder(config)
            manager.register(Plan(runs, allowed, str(path or f"{origins.REPORTS}/")), "dflash-plan")
    else:
        _report(config, targets, runs, allowed)
    if manager.hasplugin("xdist"):
        from pytest_dflash.distribution import Distribution  # noqa: PLC0415 - xdist is not a dependency

        manager.register(Distribution(config, list(runs)), "dflash-distribution")


def _report(
    config: pytest.Config, targets: Sequence[Target], runs: dict[str, HostRun], allowed: levels.Allowed
) -> None:
    """Makes the report folder, and lets pytest's own writers write there, unless a person told them where."""
    option = config.option
    path, _ = origins.report_folder(config)
    names = [each.name for each in targets]
    place = folder.named(path) if path else folder.default(config.rootpath, names, datetime.now(tz=UTC))
    config.stash[SAMPLES] = str(place.path / samples.FOLDER)
    keep_samples(runs, config.stash[SAMPLES])
    own = []
    for attribute, name in (("htmlpath", "report.html"), ("xmlpath", "junit.xml")):
        if not getattr(option, attribute, None):
            setattr(option, attribute, str(place.path / name))
            own.append(place.path / name)
    option.self_contained_html = True
    manager = config.pluginmanager
    manager.register(Header(config, runs, allowed, place.path), "dflash-header")
    outcome = RunOutcome(config, runs, allowed, place, own, option.dflash_fault)
    manager.register(outcome, "dflash-outcome")
    manager.register(Publishing(outcome, origins.metrics(config)), "dflash-publishing")


def keep_samples(runs: dict[str, HostRun], folder: str | None) -> None:
    """Lets every host keep what it measures there."""
    for run in runs.values():
        run.samples = Path(folder) if folder else None


def earlier(config: pytest.Config) -> tuple[dict[str, Any], str] | None:
    """The document of `--dflash-compare`, read before anything is asked or written.

    Raises:
        UsageError: It is none.
    """
    if not config.option.dflash_compare:
        return None
    path = config.invocation_params.dir / config.option.dflash_compare
    option = f"--dflash-compare={config.option.dflash_compare}"
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{option}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{option}: is no JSON; name the findings.json of an earlier run") from None
    if not isinstance(found, dict) or found.get("schema") != document.SCHEMA or "findings" not in found:
        raise UsageError(f"{option}: is no findings.json of schema {document.SCHEMA}")
    return found, config.option.dflash_compare


def touches_nothing(option: argparse.Namespace) -> bool:
    """Whether this run reaches no host, so that there is nothing to report."""
    asked = (
        "collectonly",
        "dflash_plan",
        "setupplan",
        "showfixtures",
        "show_fixtures_per_test",
        "markers",
        "cacheshow",
    )
    return any(getattr(option, each, None) for each in asked)


class Progress:
    """Tells what a wait is about: one line that is written over on a terminal, a line for each news elsewhere.

    Silent in xdist workers, which have no terminal, and with -q -q.
    """

    def __init__(self, config: pytest.Config, name: str) -> None:
        self.config = config
        self.name = name
        self.begun: float | None = None
        self.told = ""

    def __call__(self, line: str) -> None:
        """Says what the unit is doing, with the seconds since the first news of this host."""
        manager = self.config.pluginmanager
        reporter, capture = manager.getplugin("terminalreporter"), manager.getplugin("capturemanager")
        if self.begun is None:
            self.begun = time.monotonic()
        news = line != self.told
        self.told = line
        if reporter is None or self.config.option.verbose < -1 or not (news or reporter.isatty):
            return
        text = f"{self.name} +{time.monotonic() - self.begun:.0f} s: {line}"
        # A terminal that is gone, or that a signal has interrupted, stops no way back.
        with (
            suppress(OSError, ValueError, RuntimeError),
            capture.global_and_fixture_disabled() if capture is not None else nullcontext(),
        ):
            if news:
                reporter.ensure_newline()
            if reporter.isatty:
                reporter.rewrite(text[: shutil.get_terminal_size().columns - 1], erase=True)
            else:
                reporter.write_line(text)
            reporter.flush()

    def passing(self, line: str) -> None:
        """Says it where the next line is written over it; elsewhere, as in CI, it would only be noise."""
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None and reporter.isatty:
            self(line)


class Worker(Narrowing):
    """In an xdist worker: closes the hosts and hands what is known of them to the controller."""

    def __init__(self, config: pytest.Config, runs: dict[str, HostRun]) -> None:
        self.config = config
        self.runs = runs

    def pytest_sessionfinish(self) -> None:
        """Closes and hands over."""
        for run in self.runs.values():
            run.close()
        told: dict[str, Any] = self.config.workeroutput  # type: ignore[attr-defined]  # xdist's own attribute
        told["dflash_hosts"] = {name: run.document() for name, run in self.runs.items() if run.touched}
        told["dflash_narrowed"] = self.narrowed


def named_hosts(config: pytest.Config) -> list[Target]:
    """The hosts of `--host`, refused together with testinfra's `--hosts`."""
    if config.getoption("hosts", None):
        raise UsageError(
            "--host and testinfra's --hosts name hosts twice; keep --host, which these suites use"
        )
    if not config.option.dflash_hosts:
        raise UsageError(
            "--dflash-fault stages faults in the rehearsal only; add --host=rehearsal"
            if config.option.dflash_fault
            else "no host is named: add --host=ADDRESS, or try --host=rehearsal, which needs none"
        )
    named = target.parse_specs(config.option.dflash_hosts)
    targets = list(inventory.expand(named, getattr(config.option, "ansible_inventory", None)))
    rehearsing = any(each.scheme == "rehearsal" for each in targets)
    if config.option.dflash_fault and not rehearsing:
        raise UsageError(
            "--dflash-fault stages faults in the rehearsal only, never on a host; use --host=rehearsal"
        )
    if config.option.dflash_fault:
        from pytest_dflash.rehearsal.staged import add  # noqa: PLC0415 - only where they are staged

        for told in config.hook.pytest_dflash_faults():
            add(told)
        staged(config.option)  # refuses a name that nobody knows
    return targets


def host_runs(
    config: pytest.Config, targets: Sequence[Target], allowed: levels.Allowed
) -> dict[str, HostRun]:
    """One run for each host and profile, named by the host, and by the unit too where there are several profiles."""
    option = config.option
    runs: dict[str, HostRun] = {}
    restarts, deadline = origins.limits(config)
    drained, begun = origins.drained(config), time.monotonic()
    for each in targets:
        paths, _ = origins.profiles(config, each)
        reach = Reach(each, connection_options(option), tuple(option.dflash_fault))
        for path in paths:
            loaded = loader.load(path, host=each.name, expect=[*staged(option), *option.dflash_expect])
            usable(loaded, allowed)
            label = each.name if len(paths) == 1 else f"{each.name}/{loaded.profile.service.unit}"
            if label in runs:
                raise UsageError(
                    f"--dflash-profile: {runs[label].loaded.path} and {path} are both for the unit "
                    f"{loaded.profile.service.unit} on {each.name}; name one of them"
                )
            timeout, _ = origins.ready_timeout(config, loaded)
            allowance = Allowance(restarts, deadline, time.monotonic, begun)
            runs[label] = HostRun(label, reach, loaded, allowed, timeout, allowance, drained)
    return runs


def staged(option: argparse.Namespace) -> list[str]:
    """What the profile expects differently of a stand-in host that is staged."""
    if not option.dflash_fault:
        return []
    from pytest_dflash.rehearsal.staged import named  # noqa: PLC0415 - only where they are staged

    return [each for name in option.dflash_fault for each in named(name).expects]


def usable(loaded: LoadedProfile, allowed: levels.Allowed) -> None:
    """Refuses a profile that this side cannot work with: an engine that nobody knows, a key that is not there."""
    profile = loaded.profile
    if profile.service.user_manager and allowed.permits("restart"):
        raise UsageError(
            f"{loaded.path}: service.user_manager: units of a user's own manager are not restarted; "
            "allow read, probe or load"
        )
    if profile.service.engine not in dialects():
        raise UsageError(
            f"{loaded.path}: service.engine: {profile.service.engine!r} is not known; "
            f"known engines: {', '.join(sorted(dialects()))}"
        )
    contradicted(loaded)
    key = profile.endpoint.api_key_env
    if key and not os.environ.get(key):
        raise UsageError(
            f"{loaded.path}: endpoint.api_key_env: the variable {key} is not set here; export it first"
        )


def contradicted(loaded: LoadedProfile) -> None:
    """Refuses a profile that says the draft window twice and not alike: a run would tell two opposite things to do."""
    profile = loaded.profile
    flag = dialects()[profile.service.engine].window_setting
    tokens, asked = profile.window.tokens, profile.flags.get(flag)
    places = [loaded.sources.get(key, "") for key in ("window.tokens", f"flags.{flag}")]
    typed = any(place.startswith("--dflash-expect") for place in places)
    if tokens is None or asked is None or typed or str(asked) == str(tokens):
        return
    raise UsageError(
        f"{loaded.path}: window.tokens is {tokens} ({places[0]}) and flags.{flag} is {asked} ({places[1]}): they "
        "contradict each other; keep [window] tokens and take the flag out of [flags]"
    )


def connection_options(option: argparse.Namespace) -> dict[str, Any]:
    """Testinfra's options, as our connection takes them; refused where they cannot work."""
    checked = {name: getattr(option, name, None) for name in ("ssh_config", "ssh_identity_file", "sudo_user")}
    connection.check_options(**checked)
    return {
        **checked,
        "sudo": bool(getattr(option, "sudo", False)),
        "ansible_inventory": getattr(option, "ansible_inventory", None),
    }
