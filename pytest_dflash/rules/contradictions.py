"""What a host says against itself while a first profile is written: a broken host must not become what is expected.

Law: pure. Nothing is expected yet, so only what is wrong whatever anybody expects is told; keys are those of a profile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.version import InvalidVersion, Version

from pytest_dflash.facts import unit_file
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.packages import Packages
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.rules import fitting, reload, restart
from pytest_dflash.rules.fitting import base
from pytest_dflash.witness.chain import Chain, Witnessed
from pytest_dflash.witness.comparison import drift
from pytest_dflash.witness.following import said
from pytest_dflash.witness.setting import rule

MEANT = "which is meant?"
SOURCES: Mapping[str, str] = {
    "unit_file": "the unit file",
    "loaded_unit": "the manager",
    "process_argv": "the process",
    "server_args_log": "the engine's log",
    "server_info": "the engine's answer",
    "draft_runner_log": "the draft runner",
}
"""Witnesses in a sentence."""


def doubts(chain: Chain, packages: Reading[Packages]) -> dict[str, str]:
    """Key of the profile to what stands against the value that is written there, in a few words."""
    found = [*_flags(chain), *_variables(chain), *_packages(chain, packages)]
    return {key: f"{words}: {MEANT}" for key, words in reversed(found)}


def unfit(facts: Facts) -> list[tuple[str, Judgement]]:
    """An environment that is not in force, and what does not fit each other in the stack; each with what it is."""
    judged = (
        ("drift", restart.environment_files(facts.files, facts.loaded, facts.started)),
        ("stack", fitting.companions(facts.packages, facts.serving)),
        ("stack", fitting.torch_and_toolkit(facts.packages, facts.toolkit)),
    )
    return [(kind, each) for kind, each in judged if each.outcome is Outcome.FAIL]


def _flags(chain: Chain) -> Iterator[tuple[str, str]]:
    """Settings of which two neighbours in the chain contradict each other."""
    for name in sorted(chain.settings()):
        readings = chain.readings(name)
        step = drift(readings, rule(chain, name))
        if step is not None:
            early, late = (readings[at] for at in step)
            yield f"flags.{name}", f"{_says(early)}, {_says(late)}"


def _says(witnessed: Witnessed) -> str:
    return f"{SOURCES[witnessed.witness]} says {said(witnessed)}"


def _variables(chain: Chain) -> Iterator[tuple[str, str]]:
    """Variables that disk, manager and process do not have alike. What a wrapper may have changed is none of them."""
    files, loaded, older = chain.sources.unit_files, chain.sources.loaded, restart.older(chain)
    found = [
        *(older.value.items() if isinstance(older, Value) else ()),
        *restart.older_in_files(files, loaded, chain.sources.first).items(),
    ]
    if isinstance(files, Value) and isinstance(loaded, Value):
        disk = unit_file.effective(files.value, chain.sources.unit)
        found += reload.variables(disk, loaded.value).items()
    found += [(name, "the process has it, and nobody gives it any more") for name in restart.taken_out(chain)]
    for name, words in found:
        yield f"environment.{name}", words


def _packages(chain: Chain, packages: Reading[Packages]) -> Iterator[tuple[str, str]]:
    """Packages of which the disk does not say what runs."""
    if not isinstance(packages, Value):
        return
    for name, twice in packages.value.duplicates.items():
        if len(twice) > 1:
            yield f"stack.packages.{name}", f"one folder has it {len(twice)} times, {', '.join(twice)}"
    engine, info = chain.dialect.name, chain.sources.info
    running = chain.dialect.version(info.value) if isinstance(info, Value) else None
    on_disk = packages.value.versions.get(engine)
    if running and on_disk and not _same_version(running, on_disk):
        yield f"stack.packages.{engine}", f"on disk is {on_disk}, the engine that runs says {running}"


def _same_version(left: str, right: str) -> bool:
    """Local parts apart; what is no version differs from nothing."""
    try:
        return Version(base(left)) == Version(base(right))
    except InvalidVersion:
        return True
