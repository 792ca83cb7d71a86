"""What the manager's answers may be taken for."""

from __future__ import annotations

from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.facts.systemd import LOADED_COMMAND, UNIT_PROPERTIES, LoadedCommand, Unit


def show(*lines: str) -> Unit:
    read = UNIT_PROPERTIES.parse(Reply("\n".join(("LoadState=loaded", *lines)).encode()))
    assert isinstance(read, Value)
    return read.value


def test_what_is_not_told_is_not_guessed() -> None:
    unit = show()
    assert (unit.main_pid, unit.n_restarts, unit.need_daemon_reload, unit.invocation_id) == (
        None,
        None,
        None,
        None,
    )


def test_zero_is_no_pid_and_no_time_but_a_count() -> None:
    unit = show("MainPID=0", "ExecMainStartTimestampMonotonic=0", "NRestarts=0")
    assert (unit.main_pid, unit.exec_main_start_monotonic_us, unit.n_restarts) == (None, None, 0)


def test_numbers_that_systemd_does_not_have_read_as_none() -> None:
    unit = show("NRestarts=[not set]", "ExecMainStatus=infinity", f"ExecMainCode={'9' * 5000}")
    assert (unit.n_restarts, unit.exec_main_status, unit.exec_main_code) == (None, None, None)


def test_paths_with_blanks_stay_whole() -> None:
    assert show("DropInPaths=/etc/a b.d/1.conf /run/c.d/2.conf").drop_in_paths == (
        "/etc/a b.d/1.conf",
        "/run/c.d/2.conf",
    )


def test_a_value_may_hold_equals_signs() -> None:
    assert show("StatusText=a=b=c").properties["StatusText"] == "a=b=c"


def test_an_answer_without_a_load_state_is_no_answer() -> None:
    read = UNIT_PROPERTIES.parse(Reply(b"MainPID=1\n", b"Failed to connect to bus: Host is down\n", 1))
    assert read == Silent(
        "`systemctl show` ended with 1: Failed to connect to bus: Host is down", "systemctl show"
    )


def test_a_manager_without_a_command_says_so() -> None:
    answer = b'{"type":"a(sasbttttuii)","data":[]}\n{"type":"as","data":[]}\n{"type":"a(sb)","data":[]}\n'
    read = LOADED_COMMAND.parse(Reply(answer))
    assert isinstance(read, Value)
    assert read.value == LoadedCommand((), {}, ())


def test_half_an_answer_of_the_bus_is_no_answer() -> None:
    read = LOADED_COMMAND.parse(Reply(b'{"type":"as","data":["A=1"]}\n', b"Access denied\n", 1))
    assert read == Silent("`busctl get-property` ended with 1: Access denied", "busctl get-property")
