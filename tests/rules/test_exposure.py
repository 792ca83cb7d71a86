"""Who can reach the port, and where keys can be read."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.facts.reading import Absent, Value
from pytest_dflash.facts.sockets import Listener
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand, UnitFiles
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.redaction import MASK
from pytest_dflash.rules import exposure
from tests.rules.healthy_host import NOT_HEARD, PATH, drop_in, files, process, processes
from tests.witness.small_engine import chain_of, healthy, log


def listening(*addresses: str) -> Value[tuple[Listener, ...]]:
    return Value(tuple(Listener(address, 30000, (7,)) for address in addresses), "ss -ltnpH")


@pytest.mark.parametrize(
    "found, expected, outcome",
    [
        (("127.0.0.1",), "127.0.0.1", "pass"),
        (("::ffff:127.0.0.1",), "127.0.0.1", "pass"),
        (("127.0.0.1", "::1"), "127.0.0.1", "pass"),
        (("fe80::1%eth0",), "fe80::1", "pass"),
        (("*",), "0.0.0.0", "pass"),
        (("0.0.0.0", "::"), "0.0.0.0", "pass"),
        (("10.0.0.1",), "10.0.0.1", "pass"),
        (("*",), "127.0.0.1", "fail"),
        (("::",), "127.0.0.1", "fail"),
        (("0.0.0.0",), "127.0.0.1", "fail"),
        (("127.0.0.1", "10.0.0.1"), "127.0.0.1", "fail"),
        (("127.0.0.1",), "0.0.0.0", "fail"),
        ((), "127.0.0.1", "fail"),
    ],
)
def test_the_port_is_bound_as_expected_or_not(found: tuple[str, ...], expected: str, outcome: str) -> None:
    assert exposure.bind(listening(*found), 30000, expected, processes(7)).outcome == outcome


def test_other_doors_of_the_unit_are_noted_and_not_judged() -> None:
    sockets = (
        *listening("127.0.0.1").value,
        Listener("*", 29293, (7,)),
        Listener("127.0.0.1", 29500, (7,)),
        Listener("*", 22, (1,)),
    )
    judgement = exposure.bind(Value(sockets), 30000, "127.0.0.1", processes(7))
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == (
        "address that port 30000 is bound to: 127.0.0.1; the unit also listens on *:29293, reachable from outside"
    )


def test_a_bind_that_cannot_be_seen_is_unproven_and_none_expected_is_not_applicable() -> None:
    assert exposure.bind(NOT_HEARD, 30000, "127.0.0.1", processes(7)).outcome is Outcome.UNPROVEN
    assert exposure.bind(listening("*"), None, "127.0.0.1", processes(7)).outcome is Outcome.UNPROVEN
    assert exposure.bind(listening("*"), 30000, None, processes(7)).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    "status, expected, outcome",
    [
        (401, True, "pass"),
        (403, True, "pass"),
        (200, True, "fail"),
        (200, False, "pass"),
        (401, False, "fail"),
        (503, True, "unproven"),
        (404, False, "unproven"),
        (302, False, "unproven"),
    ],
)
def test_a_request_without_a_key_is_refused_or_answered(status: int, expected: bool, outcome: str) -> None:  # noqa: FBT001 - the profile's own value
    judgement = exposure.key_required(Value(status), expected)
    assert judgement.outcome == outcome, judgement.summary
    assert "answer to a request without a key" in judgement.summary


def test_the_request_without_a_key_may_be_unheard_or_unexpected() -> None:
    assert exposure.key_required(NOT_HEARD, True).outcome is Outcome.UNPROVEN  # noqa: FBT003 - the profile's own value
    assert exposure.key_required(Value(200), None).outcome is Outcome.NOT_APPLICABLE


def hidden(serving: Any = None, **sources: Any) -> Judgement:
    ours = serving or process(argv=("/opt/engine", "--port", "30000"))
    return exposure.key_hidden(chain_of(healthy(), **sources), ours)


def test_no_key_anywhere_passes_and_names_the_places() -> None:
    judgement = hidden()
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == (
        "no key stands in the command line, the unit file, Environment=, the journal, the engine's answer"
    )


PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "argv": (
        {"serving": process(argv=("/opt/engine", "--api-key", MASK))},
        "--api-key in the command line, which every user",
    ),
    "argv with =": (
        {"serving": process(argv=("/opt/engine", f"--api-key={MASK}"))},
        "--api-key in the command line",
    ),
    "argv of a shell": (
        {"serving": process(argv=("bash", "-lc", f"engine --api-key {MASK}"))},
        "--api-key in the command line",
    ),
    "unit file": ({"unit_files": files(f"Environment=API_KEY={MASK}")}, f"{PATH}:2 in the unit file"),
    "drop-in": (
        {"unit_files": files(drop_ins=(drop_in("10-key.conf", f"Environment=API_KEY={MASK}"),))},
        "10-key.conf:2 in the unit file",
    ),
    "manager": (
        {"loaded": Value(LoadedCommand((("/opt/engine",),), {"API_KEY": MASK}, ()))},
        "API_KEY in Environment=, which `systemctl show`",
    ),
    "log": ({"journal": Value(log(f'args {{"api-key": "{MASK}"}}', "ready"))}, "api-key in the journal"),
    "answer": ({"info": Value({"api-key": MASK})}, "api-key in the engine's answer"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_key_is_found_in_each_place_and_never_printed(place: str) -> None:
    changes, said = PLACES[place]
    judgement = hidden(**changes)
    assert judgement.outcome is Outcome.FAIL
    assert said in judgement.summary
    assert MASK not in str(judgement)
    assert judgement.remedy is not None
    assert judgement.remedy.startswith("change the key")


def test_an_environment_file_is_no_such_place() -> None:
    judgement = hidden(unit_files=files(environment_files=(DiskFile("/etc/llm.env", f"API_KEY={MASK}\n"),)))
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.endswith("; who may read the key's EnvironmentFile= was not looked at")


@pytest.mark.parametrize("argv", [("--api-key", "s3cr3t"), ("--admin-api-key=s3cr3t",)])
def test_a_key_too_short_to_be_masked_is_found_and_not_printed(argv: tuple[str, ...]) -> None:
    judgement = hidden(process(argv=("/opt/engine", *argv, "--port", "30000")))
    assert judgement.outcome is Outcome.FAIL
    assert "s3cr3t" not in str(judgement)
    assert "api-key in the command line, which every user" in judgement.summary


def test_an_answer_that_is_silent_is_named_and_the_others_suffice() -> None:
    judgement = hidden(info=NOT_HEARD)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.endswith("; not looked at: the engine's answer")


def test_a_log_without_settings_shows_no_key() -> None:
    assert hidden(journal=Value(log("ready"))).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "changes", [{"serving": NOT_HEARD}, {"unit_files": NOT_HEARD}, {"journal": NOT_HEARD}]
)
def test_without_command_line_unit_file_or_log_nothing_is_said(changes: Any) -> None:
    judgement = hidden(**changes)
    assert judgement.outcome is Outcome.UNPROVEN
    assert "`tool` is not there" in judgement.summary


def test_a_stopped_service_shows_no_key_on_a_command_line() -> None:
    assert hidden(Absent("no process"), process=Absent("no process")).outcome is Outcome.PASS


def test_a_unit_without_files_is_looked_at_elsewhere() -> None:
    assert hidden(unit_files=Value(UnitFiles(None))).outcome is Outcome.PASS
