"""The triage's fifteen lines, and which units it looks at."""

from __future__ import annotations

from pytest_dflash import triage
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.facts.services import ServiceUnit
from pytest_dflash.findings import Evidence, failed
from pytest_dflash.profile.schema import Service
from pytest_dflash.rules.diagnosis import Suspicion

SGLANG = ("python", "-m", "sglang.launch_server", "--model-path", "m")


def unit(name: str, state: str, argv: tuple[str, ...] = SGLANG) -> ServiceUnit:
    return ServiceUnit(name, state, "", argv)


def suspicion(number: int) -> Suspicion:
    evidence = tuple(Evidence(source="unit_file", reading="value", value=n, differs=n == 1) for n in range(3))
    judgement = failed(f"wrong {number}", cause="somebody", remedy=f"mend {number}", evidence=evidence)
    return Suspicion("drift", judgement, "look there")


def test_units_that_listen_come_first_then_those_that_failed() -> None:
    services = (unit("old.service", "inactive"), unit("bad.service", "failed"), unit("up.service", "active"))
    found = triage.engine_units({"up.service": "sglang"}, Value(services))
    assert list(found) == ["up.service", "bad.service", "old.service"]


def test_a_unit_of_no_engine_is_none_of_ours() -> None:
    assert triage.engine_units({}, Value((unit("ssh.service", "active", ("sshd", "-D")),))) == {}


def test_a_host_that_lists_no_services_has_those_that_listen() -> None:
    assert triage.engine_units({"a.service": "vllm"}, Silent("no")) == {"a.service": "vllm"}


def test_however_much_is_wrong_there_are_fifteen_lines_and_the_next_command_is_the_last() -> None:
    for count in range(30):
        lines = triage.told(["host", "state"], [suspicion(n) for n in range(count)], "pytest again")
        assert len(lines) <= triage.LINES
        assert lines[-1] == "next: pytest again"


def test_the_likeliest_cause_is_told_whole_and_what_does_not_fit_is_counted() -> None:
    lines = triage.told(["host", "state"], [suspicion(n) for n in range(9)], "pytest again")
    assert lines[2:6] == ["1. drift: wrong 0", "   ✗ unit file  1", "   cause: somebody", "   do: mend 0."]
    assert lines[-2] == "… and 4 more"


def test_a_healthy_host_is_told_what_was_looked_at() -> None:
    lines = triage.told(["host", "state"], [], "pytest --host=gpu1 suites/")
    assert "nothing is wrong that can be seen without a profile" in lines[2]


def test_a_line_is_short_enough_to_be_read() -> None:
    assert max(map(len, triage.told(["h" * 1000], [suspicion(0)], "x"))) == triage.WIDTH


def test_a_host_without_an_engine_is_asked_in_the_name_of_a_unit_that_a_profile_may_name() -> None:
    assert Service(unit=triage.NOBODY, engine="sglang").unit == triage.NOBODY
