"""The stand-in host and the real one do the same with everything that is changed on them.

Each test is one use that the controller makes of systemd: drop-ins, reloads, restarts, a transient service, files
under /run. The scripts are those of the controller.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.connection import Connection, local_connection, open_connection
from pytest_dflash.facts.exec_start import Command
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.target import parse_spec
from pytest_dflash.lifecycle import dropin, fingerprint, lease, lock
from pytest_dflash.rehearsal.host import StandInHost
from tests.realhost.services import UNIT, Service

LEASE = lease.name(UNIT)


@dataclass
class Place:
    """A host with a unit that serves, and the controller's scripts on it."""

    connection: Connection
    lease_s: float = 600.0

    def run(self, script: str, run: str = "r1") -> Reply:
        head = lease.preamble(UNIT, run, f"alice@laptop, run {run}", dropin.path(UNIT, run), self.lease_s)
        return self.connection.run(f"R='{self.connection.root}'\n{head}{script}", 60.0)

    def told(self, script: str, run: str = "r1") -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.run(script, run).text.splitlines() if "=" in line)

    def show(self, name: str, unit: str = UNIT) -> str:
        return self.run(f"systemctl show -p {name} --value -- {unit}\n").text.strip()

    def arm(self) -> int:
        return self.run(
            lease.arm(
                lease.preamble(UNIT, "r1", "alice@laptop, run r1", dropin.path(UNIT, "r1"), self.lease_s)
            )
        ).rc

    def write(self, *argv: str) -> int:
        return self.run(lease.write(dropin.text(Command(argv, "", "", executable=argv[0]), "r1"))).rc

    def fingerprint(self) -> fingerprint.Fingerprint:
        return fingerprint.read(Collector(self.connection, UNIT).collect(fingerprint.PROBES))

    def until(self, name: str, wanted: str, unit: str = UNIT) -> None:
        deadline = time.monotonic() + 30
        while (now := self.show(name, unit)) != wanted:
            assert time.monotonic() < deadline, f"{name} of {unit} is {now}, not {wanted}"
            time.sleep(0.1)

    @property
    def left(self) -> str:
        return self.run('ls -A "$R/run/pytest-dflash" 2>/dev/null\n').text.strip()


@pytest.fixture(scope="module", params=["stand-in", "real"])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if request.param == "real":
        service: Service = request.getfixturevalue("mini_host")
        target = parse_spec(f"root@{service.machine.name}")
        with open_connection(target, ssh_config=str(service.machine.ssh_config)) as connection:
            yield Place(connection)
    else:
        with (
            StandInHost(tmp_path_factory.mktemp("stand-in") / "host") as made,
            local_connection(made.root, made.bin) as connection,
        ):
            yield Place(connection)


@pytest.fixture
def place(host: Place) -> Iterator[Place]:
    """The host, as it was afterwards."""
    before = host.fingerprint()
    host.lease_s = 600.0
    yield host
    host.run(f'systemctl stop -- {LEASE} 2>/dev/null; take_away; rm -rf "$STATE"\n')
    host.run(lock.RELEASE)
    if host.show("ActiveState") != "active":
        host.run("start_anew\n")
        host.until("ActiveState", "active")
    after = fingerprint.compare(before, host.fingerprint())
    assert (after.ours, after.others, host.left) == ((), (), "")


def test_one_run_at_a_time_holds_the_lock_and_the_next_one_is_told_who(place: Place) -> None:
    assert place.run(lock.ACQUIRE).rc == 0
    refused = place.run(lock.ACQUIRE, "r2")
    assert refused.rc == lock.HELD
    holder = lock.holder(refused.text)
    assert (holder.who, holder.armed, holder.stale) == ("alice@laptop, run r1", False, False)
    assert 590 <= holder.left_s <= 600
    assert place.run(lock.RELEASE, "r2").rc == 0
    assert place.run(lock.ACQUIRE, "r2").rc == lock.HELD, "another run's lock is not given away"
    assert place.run(lock.RELEASE).rc == 0
    assert place.run(lock.ACQUIRE, "r2").rc == 0
    assert place.run(lease.BEAT).rc != 0, "who lost the lock does not renew it"
    assert place.run(lock.RELEASE, "r2").rc == 0


def test_a_lease_is_a_service_that_a_reload_does_not_end_and_a_stop_forgets(place: Place) -> None:
    place.run(lock.ACQUIRE)
    assert place.arm() == 0
    assert place.show("ActiveState", LEASE) == "active"
    place.run("systemctl daemon-reload\n")
    assert place.show("ActiveState", LEASE) == "active"
    assert lock.holder(place.run(lock.ACQUIRE, "r2").text).armed
    place.run(f"systemctl stop -- {LEASE}\n")
    assert (place.show("ActiveState", LEASE), place.show("LoadState", LEASE)) == ("inactive", "not-found")


def test_a_transient_service_of_the_same_name_is_refused(place: Place) -> None:
    again = f"systemd-run --quiet --collect --unit={LEASE} --property=OOMScoreAdjust=-1000 -- /bin/sleep 60\n"
    assert place.run(again).rc == 0
    refused = place.run(again)
    assert refused.rc == 1
    assert f"Unit {LEASE} was already loaded or has a fragment file." in refused.stderr.decode()
    assert place.run(f"systemctl stop -- {LEASE}\n").rc == 0


def test_a_lease_that_nobody_renews_puts_the_unit_back_and_ends(place: Place) -> None:
    place.run(lock.ACQUIRE)
    before = place.show("InvocationID")
    assert place.arm() == 0
    assert place.write("/bin/sleep", "600") == 0
    assert place.run(lease.RESTART).rc == 0
    changed = place.show("InvocationID")
    assert changed != before
    place.run('echo 0 >"$STATE/until"\n')
    place.until("LoadState", "not-found", LEASE)
    assert place.show("InvocationID") not in {before, changed}
    assert (place.show("DropInPaths"), place.left) == ("", "")


def test_a_lease_that_nobody_renews_leaves_a_unit_alone_that_was_not_restarted(place: Place) -> None:
    place.run(lock.ACQUIRE)
    before = place.show("InvocationID")
    assert (place.arm(), place.write("/bin/sleep", "600")) == (0, 0)
    place.run('echo 0 >"$STATE/until"\n')
    place.until("LoadState", "not-found", LEASE)
    assert (place.show("InvocationID"), place.show("DropInPaths"), place.left) == (before, "", "")


ODD = (
    "/bin/sleep",
    "600",
    "a b",
    "",
    "$HOME",
    "${HOME}",
    "100%",
    "; rm",
    'say "x"',
    "it's",
    "back\\slash",
    "tab\tnew",
)


def test_a_drop_in_has_the_last_word_and_every_argument_arrives_as_it_was(place: Place) -> None:
    place.run(lock.ACQUIRE)
    assert place.write(*ODD) == 0
    found = place.fingerprint()
    assert found.loaded.exec_start == (ODD,)
    assert found.unit.drop_in_paths[-1].endswith(dropin.path(UNIT, "r1"))
    assert dropin.in_force(dropin.path(UNIT, "r1"), found.unit.drop_in_paths)
    assert dropin.left_behind(found.files) == found.unit.drop_in_paths[-1:]
    assert found.unit.need_daemon_reload is False


def test_a_drop_in_that_vanished_is_noticed_and_gone_after_a_reload(place: Place) -> None:
    place.run(lock.ACQUIRE)
    assert place.write("/bin/sleep", "600") == 0
    place.run('rm "$DROPIN"\n')
    assert place.show("NeedDaemonReload") == "yes"
    assert place.run("take_away\n").rc == 0
    assert (place.show("NeedDaemonReload"), place.show("DropInPaths")) == ("no", "")
    assert place.run('[ -d "${DROPIN%/*}" ]\n').rc != 0, "the folder that was made is taken away"


def test_a_drop_in_is_written_only_while_the_lock_is_held(place: Place) -> None:
    assert place.write("/bin/sleep", "600") != 0
    assert place.show("DropInPaths") == ""


def test_a_restart_tells_both_invocations_and_the_hosts_clock(place: Place) -> None:
    place.run(lock.ACQUIRE)
    told = place.told(lease.RESTART)
    assert told["before"] != told["after"] == place.show("InvocationID")
    assert 0 < float(told["at"]) <= float(told["back"])
    assert place.show("NRestarts") == "0"


def test_a_command_that_is_not_there_is_a_restart_that_worked_and_a_unit_that_failed(place: Place) -> None:
    place.run(lock.ACQUIRE)
    assert place.write("/no/such/engine") == 0
    told = place.run(lease.RESTART)
    assert "after=" in told.text
    deadline = time.monotonic() + 20
    while (place.show("ExecMainStatus"), place.show("Result")) != ("203", "exit-code"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_put_back_takes_the_drop_in_away_and_restarts_once(place: Place) -> None:
    place.run(lock.ACQUIRE)
    assert (place.arm(), place.write("/bin/sleep", "600")) == (0, 0)
    place.run(lease.RESTART)
    changed = place.show("InvocationID")
    told = place.told(lease.PUT_BACK)
    assert told["before"] == changed != told["after"]
    assert place.show("DropInPaths") == ""
    again = place.told(lease.PUT_BACK)
    assert again == {"unmoved": "yes"}, "done twice, it restarts nothing"
    assert place.show("InvocationID") == told["after"]


def test_a_put_back_without_lock_and_drop_in_touches_nothing(place: Place) -> None:
    before = place.show("InvocationID")
    assert place.told(lease.PUT_BACK) == {"unmoved": "yes"}
    assert place.show("InvocationID") == before


def test_what_a_dead_run_left_is_taken_away_by_its_own_script(place: Place) -> None:
    place.run(lock.ACQUIRE)
    assert (place.arm(), place.write("/bin/sleep", "600")) == (0, 0)
    place.run(lease.RESTART)
    place.run(f'systemctl stop -- {LEASE}; echo 0 >"$STATE/until"\n')
    assert lock.holder(place.run(lock.ACQUIRE, "r2").text).stale
    assert place.run(lease.RECOVER, "r2").rc == 0
    assert (place.show("DropInPaths"), place.left) == ("", "")
    assert place.show("ActiveState") == "active"


def test_word_of_a_drain_outlives_lock_and_lease(place: Place) -> None:
    place.run(lock.ACQUIRE)
    assert place.run(lock.note("lb undrain 'gpu 1'; $HOME")).rc == 0
    assert place.arm() == 0
    place.run('echo 0 >"$STATE/until"\n')
    place.until("LoadState", "not-found", LEASE)
    assert place.left == f"{UNIT}.drained"
    assert (
        place.run('cat "$STATE.drained"; stat -c %a "$STATE.drained"\n').text
        == "lb undrain 'gpu 1'; $HOME\n600\n"
    )
    assert place.run(lock.FORGET, "r2").rc != 0, "who has no lock takes no word away"
    place.run(lock.ACQUIRE)
    assert place.run(lock.FORGET + lock.RELEASE).rc == 0
