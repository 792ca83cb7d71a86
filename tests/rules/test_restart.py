"""Manager and environment files against the process."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.rules.restart import environment_files, restarted
from tests.rules.healthy_host import ARGV, files, loaded, process
from tests.witness.small_engine import chain_of, healthy

ENV = "/etc/llm.env"
SHELL = ("/bin/bash", "-lc", "NCCL_DEBUG=INFO exec /opt/engine --draft-window 32")


def judge(
    environ: Any, environment: dict[str, str], argv: tuple[str, ...] = ARGV, **sources: Any
) -> Judgement:
    held = Value(LoadedCommand((argv,), environment, ()), "busctl")
    return restarted(chain_of(healthy(), loaded=held, process=process(environ=environ), **sources))


def test_a_process_with_the_managers_flags_and_variables_passes() -> None:
    judgement = judge({"A": "1", "HOME": "/root"}, {"A": "1"})
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == "the process was started with all 2 flags that the manager holds"


def test_a_flag_that_was_reloaded_and_not_restarted_is_named() -> None:
    judgement = judge({}, {}, ("/opt/engine", "--draft-window", "16", "--port", "30000"))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.between == ("loaded_unit", "process_argv")
    assert "draft-window is '16' in the unit and '32' in the process" in judgement.summary


@pytest.mark.parametrize("found, said", [("0", "'0'"), (None, "nothing")])
def test_an_old_variable_in_the_process_is_named(found: str | None, said: str) -> None:
    judgement = judge({} if found is None else {"SIMULATE": found}, {"SIMULATE": "1"})
    assert judgement.outcome is Outcome.FAIL
    assert judgement.between == ("loaded_unit", "process_argv")
    assert judgement.summary == (
        f"the process has an older environment than the manager holds: SIMULATE: the unit says '1', pid 4121 has {said}"
    )


def with_manager(environ: dict[str, str], *, argv: tuple[str, ...] = ARGV, unit: str = "") -> Judgement:
    held = Value(LoadedCommand((argv,), {"A": "1"}, (), ("LANG", "HTTP_PROXY")))
    started = process(environ={"A": "1", **environ})
    return restarted(chain_of(healthy(), loaded=held, process=started, unit_files=files(unit)))


def test_a_variable_that_was_taken_out_of_the_unit_is_named() -> None:
    judgement = with_manager({"SIMULATE": "1"})
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == (
        "the process has an older environment than the manager holds: SIMULATE: no unit names it any more"
    )
    assert judgement.observed == ["SIMULATE"]


@pytest.mark.parametrize(
    "judgement",
    [
        with_manager({"LANG": "C", "HTTP_PROXY": "p"}),  # the manager's own
        with_manager({"STATE_DIRECTORY": "/s", "INVOCATION_ID": "0", "LC_ALL": "C", "XDG_RUNTIME_DIR": "/r"}),
        with_manager({"SIMULATE": "1"}, argv=("/usr/bin/env", *ARGV)),  # a wrapper's
        with_manager({"SIMULATE": "1"}, unit="PAMName=login"),
        with_manager({"": "torn", "BASH_FUNC_x%%": "() {"}),
        judge({"SIMULATE": "1"}, {}),  # the manager's environment was not heard
    ],
)
def test_variables_of_others_than_the_unit_are_no_older_environment(judgement: Judgement) -> None:
    assert judgement.outcome is Outcome.PASS, judgement.summary


def test_an_unreadable_environment_is_told_and_flags_are_judged() -> None:
    judgement = judge(Silent("only root may read it"), {"A": "1"})
    assert judgement.outcome is Outcome.PASS
    assert "its environment was not compared: only root may read it" in judgement.summary


def test_behind_a_login_shell_its_own_variables_are_excused_and_others_are_not() -> None:
    shell = {"PATH": "/opt/bin", "NCCL_DEBUG": "WARN"}
    assert judge({"PATH": "/usr/bin", "NCCL_DEBUG": "INFO"}, shell, SHELL).summary.startswith(
        "the process was not started"
    )  # the small engine is told no port by this command: flags come first
    held = Value(LoadedCommand((("/usr/bin/env", "X=1", *ARGV),), {"PATH": "/opt/bin", "X": "0"}, ()))
    excused = restarted(
        chain_of(healthy(), loaded=held, process=process(environ={"PATH": "/usr/bin", "X": "1"}))
    )
    assert excused.outcome is Outcome.PASS
    held = Value(LoadedCommand((("/usr/bin/env", *ARGV),), {"SIMULATE": "1"}, ()))
    accused = restarted(chain_of(healthy(), loaded=held, process=process(environ={})))
    assert accused.outcome is Outcome.FAIL


def test_without_a_wrapper_a_path_is_not_excused() -> None:
    assert judge({"PATH": "/usr/bin"}, {"PATH": "/opt/bin"}).outcome is Outcome.FAIL


def test_a_script_run_by_its_interpreter_is_no_wrapper() -> None:
    held = Value(LoadedCommand((ARGV,), {"PATH": "/opt/bin"}, ()))
    ran = process(argv=("/usr/bin/python3", *ARGV), environ={"PATH": "/usr/bin"})
    assert restarted(chain_of(healthy(), loaded=held, process=ran)).outcome is Outcome.FAIL


def test_a_variable_of_an_environment_file_or_unset_is_judged_elsewhere() -> None:
    on_disk = files("UnsetEnvironment=B", environment_files=(DiskFile(ENV, "A=2\n"),))
    held = Value(LoadedCommand((ARGV,), {"A": "1", "B": "1"}, (ENV,)))
    chain = chain_of(healthy(), loaded=held, unit_files=on_disk, process=process(environ={"A": "2"}))
    assert restarted(chain).outcome is Outcome.PASS


@pytest.mark.parametrize("source", ["loaded", "process"])
def test_silence_of_manager_or_process_is_unproven(source: str) -> None:
    judgement = restarted(chain_of(healthy(), **{source: Silent("not heard")}))
    assert judgement.outcome is Outcome.UNPROVEN
    assert "not heard" in judgement.summary


def of_file(content: str, environ: Any, **rest: Any) -> Judgement:
    return environment_files(
        files(environment_files=(DiskFile(ENV, content),), **rest),
        loaded(environment_files=(ENV,)),
        process(environ=environ),
    )


def test_a_unit_without_environment_files_has_nothing_to_compare() -> None:
    assert environment_files(files(), loaded(), process()).outcome is Outcome.NOT_APPLICABLE


def test_quotes_in_an_environment_file_are_systemds() -> None:
    judgement = of_file('A=\'one two\'\nB="x\\"y"\n# C=1\n', {"A": "one two", "B": 'x"y'})
    assert judgement.summary == "all 2 variables of the environment files are in the process"


def test_a_file_that_was_changed_after_the_start_is_named_with_both_values() -> None:
    judgement = of_file("A=2\nB=1\n", {"A": "1"})
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == (
        f"the process runs with an older environment: A: {ENV} says '2', pid 4121 has '1' (and 1 more)"
    )
    assert judgement.observed == ["A", "B"]
    assert judgement.remedy == (
        "restart the unit when its traffic is drained; systemd reads these files only at a start"
    )


def test_the_later_file_wins_in_the_order_of_the_unit() -> None:
    two = (DiskFile("/etc/a.env", "X=late\n"), DiskFile("/etc/z.env", "X=early\n"))
    judgement = environment_files(
        files(environment_files=two),
        loaded(environment_files=("/etc/z.env", "/etc/a.env")),
        process(environ={"X": "late"}),
    )
    assert judgement.outcome is Outcome.PASS


@pytest.mark.parametrize(
    "judgement",
    [
        environment_files(Silent("s"), loaded(), process()),
        environment_files(files(), Silent("s"), process()),
        environment_files(files(), loaded(environment_files=(ENV,)), Silent("s")),
        environment_files(files(), loaded(environment_files=(ENV,)), Absent("s")),
        environment_files(files(), loaded(environment_files=(ENV,)), process(environ=Silent("s"))),
        environment_files(files(unreadable=(ENV,)), loaded(environment_files=(ENV,)), process()),
    ],
)
def test_environment_files_that_cannot_be_compared_are_unproven(judgement: Judgement) -> None:
    assert judgement.outcome is Outcome.UNPROVEN
