"""The triage's fifteen lines, and which units it looks at."""

from __future__ import annotations

from pathlib import Path

from pytest_dflash import triage
from pytest_dflash.findings import Evidence, failed
from pytest_dflash.profile.schema import Service
from pytest_dflash.rules import diagnosis
from pytest_dflash.rules.diagnosis import Suspicion, together


def suspicion(number: int, kind: str = "drift", unit: str | None = None) -> Suspicion:
    evidence = tuple(Evidence(source="unit_file", reading="value", value=n, differs=n == 1) for n in range(3))
    judgement = failed(f"wrong {number}", cause="somebody", remedy=f"mend {number}", evidence=evidence)
    return Suspicion(kind, judgement, "look there", unit)


def test_a_unit_that_does_not_serve_comes_first_and_the_machine_last_and_once() -> None:
    up = [suspicion(1, "drift", "a.service"), suspicion(2, "disk")]
    down = [
        suspicion(3, "crash", "b.service"),
        suspicion(4, "not serving", "b.service"),
        suspicion(2, "disk"),
    ]
    found = together([(True, up), (False, down)])
    assert [(each.kind, each.unit) for each in found] == [
        ("crash", "b.service"),
        ("not serving", "b.service"),
        ("drift", "a.service"),
        ("disk", None),
    ]


def test_of_several_units_each_line_says_of_which_it_is() -> None:
    found = [suspicion(1, "crash", "b.service"), suspicion(2, "disk")]
    lines = triage.told(["host", "a", "b"], found, "pytest again", apart=True)
    assert "1. crash of b.service: wrong 1" in lines
    assert "2. disk: wrong 2" in lines


def test_a_secret_is_masked_before_a_line_is_shortened() -> None:
    long = failed(
        "x" * 190 + "s3cret-s3cret", evidence=(Evidence(source="a", reading="value", value="s3cret-s3cret"),)
    )
    masked = triage.masked(long, lambda text: text.replace("s3cret-s3cret", "****"))
    assert "s3cr" not in "".join(triage.told(["h"], [Suspicion("drift", masked, "look")], "x"))


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


def test_a_name_of_the_host_in_the_next_command_moves_no_cursor() -> None:
    assert triage.told(["host"], [], "pytest --dflash-expect service.unit='a\x1b[2J'")[-1] == (
        "next: pytest --dflash-expect service.unit='a\\x1b[2J'"
    )


def test_a_line_is_short_enough_to_be_read() -> None:
    assert max(map(len, triage.told(["h" * 1000], [suspicion(0)], "x"))) == triage.WIDTH


def test_a_host_without_an_engine_is_asked_in_the_name_of_a_unit_that_a_profile_may_name() -> None:
    assert Service(unit=triage.NOBODY, engine="sglang").unit == triage.NOBODY


def test_a_profile_of_another_unit_is_not_the_one_to_judge_by(tmp_path: Path) -> None:
    path = tmp_path / "dflash.toml"
    assert not triage.is_for(path, "a.service")
    path.write_text('[service]\nunit = "a.service"\nengine = "sglang"\n')
    assert triage.is_for(path, "a.service")
    assert not triage.is_for(path, "b.service")


def test_a_profile_is_named_by_its_host() -> None:
    assert triage.profile_name("inferhost") == "inferhost.toml"
    assert triage.profile_name("fd00::1/../x y") == "fd00-1-..-x-y.toml"


def test_what_shows_a_cause_asks_the_manager_that_has_the_unit() -> None:
    assert diagnosis.for_user("systemctl cat a.service", None) == "systemctl cat a.service"
    assert diagnosis.for_user(diagnosis.LOOK["drift"].format(unit="a.service"), "llm") == (
        "systemctl --user -M llm@ cat a.service; systemctl --user -M llm@ show a.service -p ExecStart,NeedDaemonReload"
    )
    assert diagnosis.for_user(diagnosis.LOOK["crash"].format(unit="a.service"), "llm") == (
        "journalctl _SYSTEMD_USER_UNIT=a.service -n 200 --no-pager"
    )
