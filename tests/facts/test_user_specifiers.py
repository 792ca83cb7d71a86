"""What specifiers stand for to a user's own manager, and what is left to the host."""

from __future__ import annotations

import pytest

from pytest_dflash.facts.systemd import DiskFile, UnitFiles
from pytest_dflash.facts.unit_file import effective
from pytest_dflash.facts.user_specifiers import told

HOME = (("home", "/home/llm"),)
UNSET = tuple(
    ("unset", name)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR", "TEMP", "TMP")
)


@pytest.mark.parametrize(
    "version, state",
    [
        ("252.39-1~deb12u1", "/home/llm/.config"),
        ("253", "/home/llm/.config"),
        ("254~rc1", "/home/llm/.local/state"),
        ("v257.5-2", "/home/llm/.local/state"),
    ],
)
def test_state_and_logs_are_where_the_managers_version_has_them(version: str, state: str) -> None:
    found = told((*HOME, *UNSET, ("version", version)))
    assert (found["S"], found["L"]) == (state, f"{state}/log")
    assert (found["C"], found["E"]) == ("/home/llm/.cache", "/home/llm/.config")
    assert (found["T"], found["V"]) == ("/tmp", "/var/tmp")


@pytest.mark.parametrize(
    "version, letters", [("", "CETVh"), ("25", "CETVh"), ("2540", "CETVh"), ("254", "CELSTVh")]
)
def test_without_a_version_nobody_says_where_state_is(version: str, letters: str) -> None:
    assert "".join(sorted(told((*HOME, *UNSET, ("version", version))))) == letters


@pytest.mark.parametrize(
    "variable, version, lost",
    [
        ("XDG_STATE_HOME", "254", "SL"),
        ("XDG_STATE_HOME", "252", ""),
        ("XDG_CONFIG_HOME", "254", "E"),
        ("XDG_CONFIG_HOME", "252", "ESL"),
        ("XDG_CACHE_HOME", "254", "C"),
        ("TMPDIR", "254", "TV"),
        ("TMP", "254", "TV"),
    ],
)
def test_what_depends_on_a_variable_that_may_be_set_is_not_told(
    variable: str, version: str, lost: str
) -> None:
    known = [each for each in UNSET if each[1] != variable]
    whole = told((*HOME, *UNSET, ("version", version)))
    assert set(whole) - set(told((*HOME, *known, ("version", version)))) == set(lost)


def test_without_a_home_only_what_needs_none_is_told() -> None:
    assert told((("user", "llm"), ("uid", "1004"), ("gid", ""), *UNSET, ("version", "254"))) == {
        "u": "llm",
        "U": "1004",
        "T": "/tmp",
        "V": "/var/tmp",
    }


def test_a_users_unit_has_nothing_of_the_systems_manager() -> None:
    text = "[Service]\nExecStart=/bin/a %n %u %g %h %S %d %T\n"
    files = UnitFiles(
        DiskFile("/etc/systemd/user/a.service", text), specifiers=told((("user", "llm"),)), by_user=True
    )
    (command,) = effective(files, "a.service").exec_start
    assert command.argv == ("/bin/a", "a.service", "llm", "%g", "%h", "%S", "%d", "%T")
    assert command.notes == tuple(f"%{letter} is resolved by the host only" for letter in "ghSdT")
