"""What a benchmark, a recipe or a shell left behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.systemd import DiskFile, UnitFiles
from pytest_dflash.findings import Json, Outcome
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import knobs
from pytest_dflash.witness.chain import WITNESSES, Chain, Witnessed
from tests.rules.healthy_host import NOT_HEARD, process

PROFILE = Profile.model_validate({"service": {"unit": "a.service", "engine": "sglang"}})


@dataclass
class Told:
    """A chain in which every witness that speaks says the same."""

    settings: dict[str, Json]
    heard: dict[str, Reading[object]] = field(default_factory=lambda: dict.fromkeys(WITNESSES, Value({})))

    def readings(self, name: str) -> tuple[Witnessed, ...]:
        said: Reading[Json] = Value(self.settings[name]) if name in self.settings else Absent()
        return tuple(
            Witnessed(each, said if isinstance(self.heard[each], Value) else Silent("?"))
            for each in WITNESSES
        )


def told(settings: dict[str, Json] | None = None, **rest: Any) -> Chain:
    return cast("Chain", Told(settings or {}, **rest))


def test_a_knob_in_the_environment_is_named_with_what_it_does() -> None:
    judgement = knobs.no_knobs(told(), process(environ={"SGLANG_SIMULATE_ACC_LEN": "4"}))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary.startswith(
        "a knob of a benchmark is set: SGLANG_SIMULATE_ACC_LEN=4: acceptance is"
    )


@pytest.mark.parametrize("environ", [{}, {"CUDA_LAUNCH_BLOCKING": "0"}, {"SGLANG_SIMULATE_ACC_LEN": ""}])
def test_a_switch_that_is_off_is_no_knob(environ: dict[str, str]) -> None:
    assert knobs.no_knobs(told(), process(environ=environ)).outcome is Outcome.PASS


def test_random_weights_are_a_knob() -> None:
    judgement = knobs.no_knobs(told({"load-format": "dummy"}), process())
    assert judgement.outcome is Outcome.FAIL
    assert "--load-format dummy: the weights are random numbers" in judgement.summary


def test_simulated_acceptance_is_told_whatever_its_value() -> None:
    judgement = knobs.no_knobs(told({"spec-type": "draft-dflash", "spec-synth-len": 5.5}), process())
    assert judgement.summary == (
        "a knob of a benchmark is set: --spec-synth-len 5.5: acceptance is simulated "
        "(llama-server's help: benchmarking only)"
    )


@pytest.mark.parametrize(
    "settings, outcome",
    [
        ({"speculative-algorithm": "DFLASH"}, "pass"),
        ({"speculative-algorithm": "DFLASH", "speculative-accept-threshold-acc": 1.0}, "pass"),
        ({"speculative-algorithm": "DFLASH", "speculative-accept-threshold-acc": 0.01}, "fail"),
        (
            {"speculative-config": {"method": "dflash"}, "speculative-config.acceptance_method": "typical"},
            "fail",
        ),
        ({"speculative-accept-threshold-acc": 0.01}, "not_applicable"),
        ({"spec-type": "draft-dflash"}, "pass"),
        ({"spec-type": "none"}, "not_applicable"),
    ],
)
def test_acceptance_is_exact(settings: dict[str, Json], outcome: str) -> None:
    assert knobs.acceptance_exact(told(settings), PROFILE).outcome == outcome


def test_a_threshold_that_the_profile_expects_is_no_surprise() -> None:
    expected = PROFILE.model_copy(update={"flags": {"speculative-accept-threshold-acc": 0.9}})
    settings: dict[str, Json] = {"speculative-algorithm": "EAGLE", "speculative-accept-threshold-acc": 0.9}
    assert knobs.acceptance_exact(told(settings), expected).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "name, value, why",
    [
        ("PATH", "/opt/cuda/bin:$PATH", "$PATH stands in it"),
        ("LD_LIBRARY_PATH", "${CUDA_HOME}/lib64", "${CUDA_HOME} stands in it"),
        ("A", '"quoted"', "quotation marks around it are part of the value"),
        ("export A", "1", "its name begins with export"),
        ("PRICE", "5$", ""),
        ("REGEX", "^a$|b$", ""),
        ("JSON", '{"a": "b"}', ""),
        ("HASH", "$6$rounds", ""),
        ("EMPTY", "", ""),
        ("QUOTE", '"', ""),
    ],
)
def test_shell_in_a_variable_is_told_from_other_signs(name: str, value: str, why: str) -> None:
    assert knobs.unexpanded(name, value) == why


SHELL = "$CUDA_HOME/lib64:$LD_LIBRARY_PATH"
FILES = Value(
    UnitFiles(
        DiskFile("/etc/systemd/system/a.service", f"[Service]\nEnvironment=A=1 B={SHELL}\n"),
        environment_files=(
            DiskFile("/etc/a.env", f"# LD_LIBRARY_PATH=no\nMY_LD_LIBRARY_PATH=no\nLD_LIBRARY_PATH={SHELL}\n"),
        ),
    )
)


def test_shell_in_a_variable_is_told_with_file_line_and_value() -> None:
    judgement = knobs.plain_environment(process(environ={"LD_LIBRARY_PATH": SHELL, "B": SHELL}), FILES)
    assert judgement.summary == (
        "LD_LIBRARY_PATH holds shell that nobody expanded: $CUDA_HOME stands in it (and 1 more: B); "
        "it is set in /etc/a.env:3"
    )
    assert judgement.remedy == (
        "write the whole value of LD_LIBRARY_PATH into /etc/a.env:3, without $NAME, export and outer quotation marks; "
        "then restart the unit"
    )
    assert [(each.where, each.value) for each in judgement.evidence[1:]] == [
        ("/etc/a.env:3", f"LD_LIBRARY_PATH={SHELL}"),
        ("/etc/systemd/system/a.service:2", f"Environment=A=1 B={SHELL}"),
    ]


def test_a_variable_that_no_file_sets_is_told_without_a_line() -> None:
    for files in (FILES, NOT_HEARD):
        judgement = knobs.plain_environment(process(environ={"C": SHELL}), files)
        assert judgement.summary == "C holds shell that nobody expanded: $CUDA_HOME stands in it"
        assert "write the whole value of C into the unit's environment files, without" in str(
            judgement.remedy
        )


@given(st.text(), st.text())
def test_any_file_can_be_searched_for_a_variable(name: str, text: str) -> None:
    knobs.written(name, Value(UnitFiles(DiskFile("a", text), environment_files=(DiskFile("b", text),))))


@given(st.text(), st.text())
def test_any_variable_can_be_looked_at(name: str, value: str) -> None:
    knobs.unexpanded(name, value)


def test_nothing_is_passed_where_nothing_is_heard() -> None:
    deaf = told(heard=dict.fromkeys(WITNESSES, NOT_HEARD))
    found = [
        knobs.no_knobs(told(), process(environ=NOT_HEARD)),
        knobs.no_knobs(told(), NOT_HEARD),
        knobs.plain_environment(NOT_HEARD, NOT_HEARD),
        knobs.acceptance_exact(deaf, PROFILE),
    ]
    assert {each.outcome for each in found} == {Outcome.UNPROVEN}


def test_routes_of_development_are_a_knob_that_was_left() -> None:
    judgement = knobs.no_knobs(told(), process(environ={"VLLM_SERVER_DEV_MODE": "1"}))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.observed == ["VLLM_SERVER_DEV_MODE=1"]
    assert "routes of development are open" in judgement.summary
