"""The checks over the chain: one flag, one variable, all flags, and what the engine ignores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.systemd import LoadedCommand
from pytest_dflash.findings import Json, Judgement, Outcome
from pytest_dflash.profile.schema import Profile
from pytest_dflash.witness import drift
from pytest_dflash.witness.chain import Sources
from pytest_dflash.witness.setting import follow_flag
from tests.witness.small_engine import (
    UNIT,
    WINDOW,
    SmallDialect,
    chain_of,
    healthy,
    log,
    process,
    told,
    unit_text,
)


def profile(**tables: object) -> Profile:
    return Profile.model_validate({"service": {"unit": UNIT, "engine": "sglang"}, **tables})


def engine_says(sources: Sources, settings: dict[str, Json], info: dict[str, Json] | None = None) -> Sources:
    """The same host whose engine printed these settings, and answers these or others."""
    journal = log(f"args {json.dumps(settings)}", f"draft {json.dumps({WINDOW: 2048})}", "ready")
    return replace(sources, journal=Value(journal), info=Value(settings if info is None else info))


def test_a_flag_of_the_profile_is_followed() -> None:
    judgement = drift.flag(chain_of(healthy()), WINDOW, profile(flags={WINDOW: 2048}))
    assert (judgement.outcome, judgement.param) == (Outcome.PASS, WINDOW)


def test_a_flag_may_be_spelled_as_an_older_version_does() -> None:
    judgement = drift.flag(chain_of(healthy()), "old-draft-window", profile(flags={"old-draft-window": 16}))
    assert judgement.summary == "old-draft-window is 2048 all along: expected 16"


def test_a_witness_that_the_profile_calls_optional_may_be_silent() -> None:
    sources = replace(healthy(), journal=Silent("rotated away"))
    wanted = {"flags": {WINDOW: 2048}}
    assert drift.flag(chain_of(sources), WINDOW, profile(**wanted)).outcome is Outcome.UNPROVEN
    lenient = profile(**wanted, witnesses={"optional": ["draft_runner_log"]})
    assert drift.flag(chain_of(sources), WINDOW, lenient).outcome is Outcome.PASS


def test_a_flag_at_the_engines_default_is_in_force_without_being_asked_for() -> None:
    sources = engine_says(healthy(), {"tp-size": 1, **told(WINDOW, 2048)})
    assert drift.flag(chain_of(sources), "tp-size", profile(flags={"tp-size": 1})).outcome is Outcome.PASS


def test_nothing_expected_is_not_applicable() -> None:
    assert drift.flag(chain_of(healthy()), None, profile()).outcome is Outcome.NOT_APPLICABLE
    assert drift.variable(chain_of(healthy()), None, profile()).outcome is Outcome.NOT_APPLICABLE
    assert drift.draft_window(chain_of(healthy()), profile()).outcome is Outcome.NOT_APPLICABLE


def test_the_window_of_the_profile_has_no_parameter() -> None:
    judgement = drift.draft_window(chain_of(healthy()), profile(window={"tokens": 2048, "via": "flag"}))
    assert (judgement.outcome, judgement.param) == (Outcome.PASS, None)


def with_variable(disk: str | None, loaded: str | None, running: str | None) -> Sources:
    def named(value: str | None) -> dict[str, str]:
        return {} if value is None else {"LEVEL": value}

    return replace(
        healthy(),
        unit_files=Value(unit_text("/opt/engine", *(f"Environment={k}={v}" for k, v in named(disk).items()))),
        loaded=Value(LoadedCommand((("/opt/engine",),), named(loaded), ())),
        process=Value(process("/opt/engine", environ=Value(named(running)))),
    )


@pytest.mark.parametrize(
    "values, expected, outcome, between",
    [
        (("SYS", "SYS", "SYS"), "SYS", Outcome.PASS, None),
        (("SYS", "SYS", None), "SYS", Outcome.FAIL, ("loaded_unit", "process_argv")),
        (("SYS", None, None), "SYS", Outcome.FAIL, ("unit_file", "loaded_unit")),
        (("PHB", "PHB", "PHB"), "SYS", Outcome.FAIL, None),
        ((None, None, None), False, Outcome.PASS, None),
        (("0", "0", "0"), False, Outcome.FAIL, None),
        ((None, None, "1"), False, Outcome.FAIL, ("loaded_unit", "process_argv")),
        (("1", "1", "1"), 1, Outcome.PASS, None),
        (("x", "x", "x"), True, Outcome.PASS, None),
    ],
)
def test_a_variable_is_followed_from_disk_to_process(
    values: tuple[str | None, ...], expected: Json, outcome: Outcome, between: tuple[str, str] | None
) -> None:
    wanted = Profile.model_construct(environment={"LEVEL": expected}, witnesses=profile().witnesses)
    judgement = drift.variable(chain_of(with_variable(*values)), "LEVEL", wanted)
    assert (judgement.outcome, judgement.between) == (outcome, between)


def test_an_unreadable_environment_of_the_process_is_unproven() -> None:
    sources = with_variable("SYS", "SYS", None)
    hidden = process("/opt/engine", environ=Silent("/proc/4121/environ: Permission denied"))
    judgement = drift.variable(
        chain_of(sources, process=Value(hidden)), "LEVEL", profile(environment={"LEVEL": "SYS"})
    )
    assert judgement.outcome is Outcome.UNPROVEN
    assert "Permission denied" in judgement.summary


def no_drift(sources: Sources, dialect: SmallDialect | None = None) -> Judgement:
    return drift.no_drift(chain_of(sources, dialect))


def test_a_healthy_host_has_no_drift() -> None:
    judgement = no_drift(healthy())
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.startswith("2 settings do not contradict each other in unit_file, loaded_unit, ")


def test_what_the_engine_filled_in_by_itself_is_no_drift() -> None:
    filled: dict[str, Json] = {"page-size": None, "backend": "triton", **told(WINDOW, 2048)}
    assert no_drift(engine_says(healthy(), filled, {**filled, "page-size": 1})).outcome is Outcome.PASS
    assert no_drift(engine_says(healthy(), filled, told(WINDOW, 2048))).outcome is Outcome.PASS


def test_what_was_changed_while_running_is_drift_though_nobody_asked_for_it() -> None:
    judgement = no_drift(
        engine_says(healthy(), {"accept": 1.0, **told(WINDOW, 2048)}, {"accept": 0.5, **told(WINDOW, 2048)})
    )
    assert judgement.between == ("server_args_log", "server_info")
    assert "changed while running" in (judgement.cause or "")


def test_a_flag_that_was_asked_for_and_is_not_there_later_is_drift() -> None:
    judgement = no_drift(engine_says(healthy(), {"model": "/m"}))
    assert judgement.between == ("process_argv", "server_args_log")
    assert (
        judgement.summary == f"{WINDOW} drifted between process_argv and server_args_log: 2048 became nothing"
    )


def test_a_flag_that_was_asked_for_and_replaced_is_drift_unless_that_is_legal() -> None:
    replaced = engine_says(healthy(), {"model": "/resolved", WINDOW: 2048})
    assert (
        no_drift(replaced).summary
        == "model drifted between process_argv and server_args_log: /m became /resolved"
    )
    assert no_drift(replaced, SmallDialect(rewrites={("model", "/m"): "/resolved"})).outcome is Outcome.PASS


def test_only_the_settings_that_drift_are_shown_each_with_its_two_witnesses() -> None:
    judgement = no_drift(engine_says(healthy(), {"model": "/other"}))
    assert [(each.source, each.where, each.differs) for each in judgement.evidence] == [
        ("process_argv", f"{WINDOW}: pid 4121", False),
        ("server_args_log", f"{WINDOW}: journal, invocation 3f2c…: +11.4 s", True),
        ("process_argv", "model: pid 4121", False),
        ("server_args_log", "model: journal, invocation 3f2c…: +11.4 s", True),
    ]
    assert judgement.summary.endswith("(and 1 more: model)")
    assert judgement.observed == {
        WINDOW: {"process_argv": "2048", "server_args_log": None},
        "model": {"process_argv": "/m", "server_args_log": "/other"},
    }


def test_a_silent_draft_runner_is_noted_and_left_to_the_windows_own_check() -> None:
    journal = log(f"args {json.dumps(told(WINDOW, 2048))}", "ready")
    judgement = no_drift(replace(healthy(), journal=Value(journal)))
    assert judgement.outcome is Outcome.PASS
    assert "draft_runner_log is silent" in judgement.summary


@pytest.mark.parametrize("source", ["process", "info"])
def test_drift_is_not_excluded_while_the_process_or_the_engine_is_silent(source: str) -> None:
    judgement = no_drift(replace(healthy(), **{source: Silent("no permission")}))  # type: ignore[arg-type]  # a field by name
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary.endswith("is silent: no permission")
    assert judgement.remedy


def test_drift_is_told_also_when_others_are_silent() -> None:
    sources = replace(
        healthy(), loaded=Value(LoadedCommand((("/opt/engine",),), {}, ())), info=Silent("refused")
    )
    assert no_drift(sources).outcome is Outcome.FAIL


def ignored(*lines: str, reaches_start: bool = True) -> Judgement:
    return drift.none_ignored(chain_of(healthy(), journal=Value(log(*lines, reaches_start=reaches_start))))


def test_a_warning_that_a_flag_has_no_effect_fails() -> None:
    judgement = ignored(f"warn {WINDOW}: has no effect", "ready")
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == f"the engine ignores or replaces {WINDOW}: has no effect"
    assert judgement.evidence[0].where == "journal, +20.0 s"


def test_what_is_known_of_a_warning_counts_in_all_that_meet_it() -> None:
    known = Warning_(WINDOW, "has no effect", "log", cause="not read", remedy="take another algorithm")

    @dataclass
    class Knowing(SmallDialect):
        def warnings(self, _journal: Journal) -> Sequence[Warning_]:
            return [known]

    dropped = log(f"args {json.dumps(told(WINDOW, 2048))}", f"draft {json.dumps({WINDOW: None})}", "ready")
    chain = chain_of(healthy(), Knowing(), journal=Value(dropped))
    found = [follow_flag(chain, WINDOW, 2048), drift.no_drift(chain), drift.none_ignored(chain)]
    assert {each.remedy for each in found} == {"take another algorithm"}
    assert found[-1].cause == "not read"


def test_a_finished_start_up_without_warnings_passes() -> None:
    assert ignored("ready").outcome is Outcome.PASS


def test_a_log_without_its_beginning_or_its_end_proves_nothing() -> None:
    assert ignored("ready", reaches_start=False).outcome is Outcome.UNPROVEN
    assert ignored("loading").outcome is Outcome.UNPROVEN
    assert drift.none_ignored(chain_of(healthy(), journal=Absent())).outcome is Outcome.UNPROVEN


def test_the_draft_may_choose_for_itself_what_nobody_asked_for() -> None:
    dialect = SmallDialect(in_draft=(WINDOW, "draft-backend"))
    settings: dict[str, Json] = {"draft-backend": "native", **told(WINDOW, 2048)}
    own = log(f"args {json.dumps(settings)}", f"draft {json.dumps({WINDOW: 2048, 'draft-backend': 'other'})}")
    assert (
        no_drift(replace(healthy(), journal=Value(own), info=Value(settings)), dialect).outcome
        is Outcome.PASS
    )


def test_without_an_expectation_the_remedy_leaves_open_which_of_two_values_is_meant() -> None:
    edited = replace(healthy(), unit_files=Value(unit_text(f"/opt/engine --model /m --{WINDOW} 16")))
    assert no_drift(edited).remedy == (
        f"If 16 is meant: systemctl daemon-reload && systemctl restart {UNIT} when drained, then run again. "
        f"If not: make --{WINDOW} what it was where it is set (2048)"
    )


def test_a_start_that_is_not_over_is_waited_for() -> None:
    assert ignored("loading").remedy == "Wait until the engine is ready (see endpoint.serves), and run again"
