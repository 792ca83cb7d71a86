"""Drop-in, lock, lease and fingerprint: the texts, and what they are read as."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.exec_start import Command
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand, Unit, UnitFiles
from pytest_dflash.facts.unit_file import effective
from pytest_dflash.lifecycle import dropin, lease, lock
from pytest_dflash.lifecycle.fingerprint import Fingerprint, compare

UNIT = "sglang@0.service"
ARMED = "the host's lease is running"
ETC = f"/etc/systemd/system/{UNIT}"


def unit(**changes: object) -> Unit:
    plain = Unit(
        UNIT, "loaded", "active", "running", "success", "enabled", ETC, (), None, "i", 1, 0, 0, 1, 0, "", "root", "no", {}
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]  # names of its own fields


def fingerprint(
    text: str = "[Service]\nExecStart=/bin/a\n", argv: str = "/bin/a", **changes: object
) -> Fingerprint:
    drop_ins = tuple(DiskFile(str(path), "") for path in changes.pop("drop_ins", ()))  # type: ignore[attr-defined]  # strings
    return Fingerprint(
        unit(**changes), LoadedCommand(((argv,),), {}, ()), UnitFiles(DiskFile(ETC, text), drop_ins)
    )


def test_the_drop_in_resets_the_command_and_sets_the_new_one() -> None:
    text = dropin.text(Command(("/bin/a", "100%", "b c"), "", "", executable="/bin/a"), "r1")
    files = UnitFiles(DiskFile(ETC, "[Service]\nExecStart=/bin/old\n"), (DiskFile("zzz", text),))
    assert [each.argv for each in effective(files, UNIT).exec_start] == [("/bin/a", "100%", "b c")]
    assert dropin.path(UNIT, "r1") == "/run/systemd/system/sglang@0.service.d/zzz-dflash-r1.conf"


def test_a_file_that_would_have_the_last_word_is_named() -> None:
    files = UnitFiles(None, (DiskFile("/etc/x.d/10.conf", ""), DiskFile("/etc/x.d/zzzz.conf", "")))
    assert dropin.hidden_by("zzz-dflash-r1.conf", files) == "/etc/x.d/zzzz.conf"
    masked = UnitFiles(None, masked=("/etc/x.d/zzz-dflash-r1.conf",))
    assert dropin.hidden_by("zzz-dflash-r1.conf", masked) == "/etc/x.d/zzz-dflash-r1.conf"
    assert dropin.hidden_by("zzz-dflash-r1.conf", UnitFiles(None)) == ""


def test_the_drop_in_is_in_force_only_as_the_last_one() -> None:
    assert dropin.in_force("/run/b.conf", ("/etc/a.conf", "/run/b.conf"))
    assert not dropin.in_force("/run/b.conf", ("/run/b.conf", "/etc/c.conf"))
    assert not dropin.in_force("/run/b.conf", ())


@pytest.mark.parametrize(
    "said,text,holds",
    [
        ("who=a\nsince=then\nuntil=110\nnow=100\nlease=active\n", f"a since then; it lapses in 10 s, {ARMED}", "held"),
        ("who=a\nsince=then\nuntil=90\nnow=100\nlease=inactive\n", "a since then; its time is over", "stale"),
        ("who=a\nsince=then\nuntil=90\nnow=100\nlease=active\n", f"a since then; its time is over, {ARMED}", "held"),
        ("", "somebody who left no name since an unknown time; its time is over", "stale"),
    ],
)  # fmt: skip
def test_a_lock_names_its_holder_and_whether_anybody_answers_for_it(said: str, text: str, holds: str) -> None:
    holder = lock.holder(said)
    assert (str(holder), "stale" if holder.stale else "held") == (text, holds)


@given(st.text())
def test_whatever_a_lock_says_is_read(said: str) -> None:
    assert str(lock.holder(said))


@pytest.mark.parametrize(
    "body", [lock.ACQUIRE, lock.RELEASE, lease.RESTORE, lease.RESTART, lease.PUT_BACK, lease.RECOVER]
)
def test_every_script_is_sh(body: str) -> None:
    head = lease.preamble(UNIT, "r1", "alice's laptop", dropin.path(UNIT, "r1"), 30)
    for script in (head + body, lease.arm(head), head + lease.write("[Service]\n")):
        subprocess.run(["/bin/sh", "-n"], input=script.encode(), check=True)


def test_nothing_under_etc_is_ever_written() -> None:
    head = lease.preamble(UNIT, "r1", "alice's laptop", dropin.path(UNIT, "r1"), 30)
    everything = (
        lease.arm(head) + lease.write("") + lock.ACQUIRE + lease.RESTART + lease.PUT_BACK + lease.RECOVER
    )
    assert "/etc" not in everything


def test_the_lease_of_an_instance_has_a_name_without_an_instance() -> None:
    assert lease.name(UNIT) == "dflash-lease-sglang_0.service"


def test_a_unit_that_is_as_before_differs_in_nothing() -> None:
    found = compare(fingerprint(), fingerprint(invocation_id="other"))
    assert (found.ours, found.others) == ((), ())


@pytest.mark.parametrize(
    "after,says",
    [
        (fingerprint(active_state="failed"), "the unit is failed, and was active"),
        (fingerprint(argv="/bin/b"), "the manager holds another ExecStart"),
        (fingerprint(drop_ins=["/run/x.d/zzz-dflash-r1.conf"]), "the drop-in /run/x.d/zzz-dflash-r1.conf is still there"),
        (fingerprint(drop_in_paths=("/run/x.d/zzz-dflash-r1.conf",)), "the manager still holds the drop-in"),
        (fingerprint(unit_file_state="disabled"), "the manager holds another UnitFileState"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_was_is_told(after: Fingerprint, says: str) -> None:
    assert any(says in each for each in compare(fingerprint(), after).ours)


def test_somebody_elses_edit_is_theirs_with_all_that_follows_from_it() -> None:
    found = compare(fingerprint(), fingerprint("[Service]\nExecStart=/bin/b\n", "/bin/b"))
    assert found.ours == ()
    assert found.others[0] == f"{ETC} was edited meanwhile"
    assert "ExecStart" in found.others[1]
