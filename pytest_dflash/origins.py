"""Which value came from where: the command line, addopts, the ini file, the rootdir, or built in.

Law: reads pytest's configuration and returns values with the words for their origin; asks no host, makes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dflash.errors import UsageError
from pytest_dflash.facts.target import Target

if TYPE_CHECKING:
    from pytest_dflash.profile.loader import LoadedProfile

REPORTS = "reports"


def arguments(config: pytest.Config) -> list[str]:
    """What was typed. An xdist worker's own command line is xdist's, so that it is told."""
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    return list(worker["dflash_typed"]) if worker else [str(each) for each in config.invocation_params.args]


def origin(config: pytest.Config, option: str) -> str:
    """Whether an option that has a value was typed, or stands in addopts."""
    typed = any(each == option or each.startswith(f"{option}=") for each in arguments(config))
    return option if typed else f"{option} in addopts or PYTEST_ADDOPTS"


def typed_words(config: pytest.Config) -> Sequence[str]:
    """The words of `--dflash-allow` that stand on the command line itself."""
    typed = arguments(config)
    words: list[str] = []
    for position, argument in enumerate(typed):
        name, equals, value = argument.partition("=")
        if name == "--dflash-allow":
            words += (value if equals else "".join(typed[position + 1 : position + 2])).split(",")
    return [word.strip() for word in words]


def profiles(config: pytest.Config, host: Target) -> tuple[list[Path], str]:
    """The expectations of a host, and who named them.

    Raises:
        UsageError: Nobody did; the message says how to write a first profile.
    """
    given = config.option.dflash_profile
    if given:
        folder = config.invocation_params.dir
        return [folder / path for path in given], origin(config, "--dflash-profile")
    if host.scheme == "rehearsal":
        from pytest_dflash.rehearsal import host as rehearsal  # noqa: PLC0415 - only where it is played

        return [rehearsal.PROFILE], "the rehearsal's own"
    if config.getini("dflash_profile"):
        return [
            Path(path) for path in config.getini("dflash_profile")
        ], f"ini dflash_profile in {config.inipath}"
    path = config.rootpath / "dflash.toml"
    if path.exists():
        return [path], "found in the rootdir"
    raise UsageError(
        f"no profile: {path} does not exist and --dflash-profile names none, so nothing is expected of "
        f"{host.name}; write one from what the host shows with --dflash-write-profile=dflash.toml"
    )


def report_folder(config: pytest.Config) -> tuple[Path | None, str]:
    """The folder that a person named for reports, or None, and who named it."""
    if config.option.dflash_report_dir:
        named = config.invocation_params.dir / config.option.dflash_report_dir
        return named, origin(config, "--dflash-report-dir")
    ini = config.getini("dflash_report_dir")
    if ini:
        base = config.inipath.parent if config.inipath else config.rootpath
        return base / ini, f"ini dflash_report_dir in {config.inipath}"
    return None, "default"


def metrics(config: pytest.Config) -> Path | None:
    """Where OpenMetrics text is wanted, relative to the working directory.

    Raises:
        UsageError: Its folder is not there; found out before anything is asked of a host.
    """
    if not config.option.dflash_metrics:
        return None
    path: Path = config.invocation_params.dir / config.option.dflash_metrics
    if not path.parent.is_dir() or path.is_dir():
        raise UsageError(
            f"--dflash-metrics: {path} is no file in a folder that is there; make it, or name another"
        )
    return path


def ready_timeout(config: pytest.Config, loaded: LoadedProfile) -> tuple[float, str]:
    """How long readiness may take, in seconds.

    Raises:
        UsageError: The option is not a positive number.
    """
    given: float | None = config.option.dflash_ready_timeout
    if given is None:
        told = loaded.sources.get("service.ready_timeout_s")
        return loaded.profile.service.ready_timeout_s, (
            f"service.ready_timeout_s in {told}" if told else "default"
        )
    if not 0 < given < float("inf"):
        raise UsageError(f"--dflash-ready-timeout: must be a positive number of seconds, found {given:g}")
    return given, origin(config, "--dflash-ready-timeout")


def limits(config: pytest.Config) -> tuple[int | None, float | None]:
    """At most how many restarts of a unit, and after how many seconds a host must be as it was.

    Raises:
        UsageError: A limit that is none.
    """
    restarts: int | None = config.option.dflash_max_restarts
    deadline: float | None = config.option.dflash_deadline
    if restarts is not None and restarts < 0:
        raise UsageError(f"--dflash-max-restarts: must be 0 or more, found {restarts}")
    if deadline is not None and not 0 < deadline < float("inf"):
        raise UsageError(f"--dflash-deadline: must be a positive number of seconds, found {deadline:g}")
    return restarts, deadline


def drained(config: pytest.Config) -> bool:
    """Whether a person vouches that nobody else uses the host.

    Raises:
        UsageError: The word was not typed for this run: nobody can vouch from an ini file.
    """
    if config.option.dflash_drained and "--dflash-drained" not in arguments(config):
        raise UsageError(
            "--dflash-drained: vouches for the host at this moment, so it counts only when typed on the command "
            "line, not from an ini file, addopts or PYTEST_ADDOPTS; type it, or take it out there"
        )
    return bool(config.option.dflash_drained)
