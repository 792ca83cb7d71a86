"""What a host says against itself while a first profile is written: a question at each value, by key of the profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_dflash.facts.packages import Packages
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.systemd import LoadedCommand
from pytest_dflash.findings import Json
from pytest_dflash.rules.contradictions import doubts
from pytest_dflash.witness.chain import Chain
from tests.witness.small_engine import WINDOW, SmallDialect, chain_of, healthy, log, process, told, unit_text

ARGV = ("/opt/engine", "--model", "/m", f"--{WINDOW}", "2048")
COMMAND = " ".join(ARGV)


def asked(chain: Chain, packages: Reading[Packages] | None = None) -> Mapping[str, str]:
    return doubts(chain, packages or Silent("not asked"))


def test_a_host_of_one_mind_is_asked_nothing() -> None:
    assert asked(chain_of(healthy())) == {}
    assert asked(chain_of(healthy(), info=Silent("no"), journal=Silent("no"), unit_files=Absent())) == {}


@pytest.mark.parametrize(
    "changed, words",
    [
        (
            {"unit_files": Value(unit_text(COMMAND.replace("2048", "512")))},
            "the unit file says 512, the manager says 2048",
        ),
        ({"process": Value(process(*ARGV[:3]))}, "the manager says 2048, the process says nothing"),
        ({"info": Value(told(WINDOW, 512))}, "the engine's log says 2048, the engine's answer says 512"),
        (
            {"journal": Value(log('args {"model": "/m"}', "ready")), "info": Silent("no route")},
            "the process says 2048, the engine's log says nothing",
        ),
    ],
)
def test_two_neighbours_that_contradict_each_other_are_a_question(
    changed: dict[str, Any], words: str
) -> None:
    assert asked(chain_of(healthy(), **changed)) == {f"flags.{WINDOW}": f"{words}: which is meant?"}


def environment(process_has: dict[str, str], *, unit: str = "", loaded: dict[str, str]) -> Mapping[str, str]:
    return asked(
        chain_of(
            healthy(),
            unit_files=Value(unit_text(COMMAND, *([unit] if unit else []))),
            loaded=Value(LoadedCommand((ARGV,), loaded, ())),
            process=Value(process(*ARGV, environ=Value(process_has))),
        )
    )


def test_a_variable_that_process_manager_and_disk_have_otherwise_is_a_question() -> None:
    older = environment(
        {"NCCL_DEBUG": "INFO"}, unit="Environment=NCCL_DEBUG=WARN", loaded={"NCCL_DEBUG": "WARN"}
    )
    assert older == {
        "environment.NCCL_DEBUG": "the unit says 'WARN', pid 4121 has 'INFO': which is meant?",
    }
    edited = environment(
        {"NCCL_DEBUG": "WARN"}, unit="Environment=NCCL_DEBUG=INFO", loaded={"NCCL_DEBUG": "WARN"}
    )
    assert edited == {"environment.NCCL_DEBUG": "on disk 'INFO', loaded 'WARN': which is meant?"}
    assert environment({"NCCL_DEBUG": "1"}, unit="Environment=NCCL_DEBUG=1", loaded={"NCCL_DEBUG": "1"}) == {}


@dataclass
class Versioned(SmallDialect):
    """The same engine, which tells its version."""

    def version(self, document: Json) -> str | None:
        return "1.2.0+cu130"


def installed(version: str, *twice: str) -> Value[Packages]:
    return Value(Packages("python", 4121, {"small": version}, {}, (), {"small": twice} if twice else {}))


@pytest.mark.parametrize(
    "packages, words",
    [
        (installed("1.2"), None),
        (installed("1.2.0+cpu"), None),
        (installed("no version"), None),
        (installed("1.3.0"), "on disk is 1.3.0, the engine that runs says 1.2.0+cu130: which is meant?"),
        (installed("1.3.0", "1.2.0", "1.3.0"), "one folder has it 2 times, 1.2.0, 1.3.0: which is meant?"),
    ],
)
def test_a_package_of_which_the_disk_does_not_say_what_runs_is_a_question(
    packages: Value[Packages], words: str | None
) -> None:
    found = asked(chain_of(healthy(), Versioned()), packages)
    assert found == ({} if words is None else {"stack.packages.small": words})
