"""Whatever happens between lock and unlock, the host comes back: each case compares it before and after."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest

from pytest_dflash.lifecycle.controller import STEPS
from tests.realhost.changing_runs import LEASE_S, ROOT, Host, outcome, restored
from tests.realhost.services import FRAGMENT, SITE, UNIT, Service


@pytest.fixture(scope="module")
def on_host(mini_host: Service, tmp_path_factory: pytest.TempPathFactory) -> Host:
    return Host(mini_host, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def host(on_host: Host, put_back: None) -> Host:
    on_host.free()
    return on_host


def test_a_budget_is_visited_and_the_host_is_as_before(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({})
    assert (code, outcome(document), restored(document)) == (0, "pass", True), said
    assert document["hosts"][0]["changed"] is True
    assert host.state() == before
    assert host.leftovers() == ""


@pytest.mark.parametrize("step", STEPS)
def test_a_run_killed_at_any_step_is_put_back(host: Host, step: str) -> None:
    before = host.state()
    code, said, _ = host.run({step: "kill -KILL $RUN_PID"})
    assert code == -9, said
    host.comes_back(before, LEASE_S + host.service.start_s)


def test_after_all_that_a_run_is_as_good_as_the_first(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({})
    assert (code, restored(document)) == (0, True), said
    assert host.state() == before


def test_a_connection_that_is_cut_in_the_wait_is_opened_again(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({"wait": host.ssh("pkill -KILL -f 'sshd: root'")})
    assert restored(document) is True, said
    assert code in {0, 1, 10, 11}
    assert host.state() == before


def test_an_sshd_that_is_restarted_does_no_harm(host: Host) -> None:
    before = host.state()
    _, said, document = host.run({"wait": host.ssh("systemctl restart ssh")})
    assert restored(document) is True, said
    assert host.state() == before


def test_a_crash_in_the_changed_configuration_is_a_failure_and_put_back(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({}, flag='budget_flag = "no-such-flag"')
    assert (code, outcome(document), restored(document)) == (1, "fail", True), said
    assert "does not get ready with budget 3" in document["findings"][0]["summary"]
    host.comes_back(before, 5)


def test_an_engine_that_never_gets_ready_is_a_failure_and_put_back(host: Host) -> None:
    mischief = f"{SITE}/sglang/miniature/mischief.json"
    before = host.state()
    at = {
        "restart": host.ssh(f"echo '{{\"load_hangs\": true}}' >{mischief}"),
        "put back": host.ssh(f"rm {mischief}"),
    }
    code, said, document = host.run(at, ready=5)
    assert (code, outcome(document), restored(document)) == (1, "fail", True), said
    host.comes_back(before, 5)


def test_a_full_run_folder_is_met_before_anything_is_touched(host: Host) -> None:
    before, invocation = host.state(), host.service.show("InvocationID")
    fill = "mount -o remount,size=$(df -k --output=used /run | tail -n 1 | tr -d ' ')k /run; cat /dev/zero >/run/full"
    try:
        _, said, document = host.run({"lock": host.ssh(fill)})
    finally:
        host.service.machine.sh("mount -o remount,size=50% /run; rm -f /run/full")
    assert outcome(document) == "unproven", said
    assert host.state() == before
    assert host.service.show("InvocationID") == invocation


def test_without_systemd_run_nothing_is_touched(host: Host) -> None:
    before, invocation = host.state(), host.service.show("InvocationID")
    try:
        _, said, document = host.run({"lock": host.ssh("mv /usr/bin/systemd-run /usr/bin/away")})
    finally:
        host.service.machine.sh("[ ! -e /usr/bin/away ] || mv /usr/bin/away /usr/bin/systemd-run")
    assert outcome(document) == "unproven", said
    assert "was not changed, as `lease` failed" in document["findings"][0]["summary"]
    assert (host.state(), host.service.show("InvocationID")) == (before, invocation)


@pytest.mark.parametrize("user,options,code", [("visitor", ["--sudo"], 11), ("visitor", [], 10)])
def test_somebody_who_may_not_touches_nothing(host: Host, user: str, options: list[str], code: int) -> None:
    before, invocation = host.state(), host.service.show("InvocationID")
    found, said, _ = host.run({}, *options, user=user, ready=5)
    assert found == code, said
    assert (host.state(), host.service.show("InvocationID")) == (before, invocation)


def test_a_persons_edit_stays(host: Host) -> None:
    try:
        edit = f"sed -i 's/--tp-size 8/--tp-size 4/' {FRAGMENT}"
        _, said, document = host.run({"wait": host.ssh(edit)})
        assert restored(document) is True, said
        assert f"{FRAGMENT} was edited meanwhile" in said
        assert "--tp-size 4" in host.state()
        assert "zzz-dflash" not in host.state()
    finally:
        host.service.heal()


def test_of_two_runs_at_once_the_second_is_refused_by_name(host: Host) -> None:
    before = host.state()
    first, folder = host.command(lease=60)
    at = {"PYTHONPATH": str(ROOT), "DFLASH_AT_STEP": json.dumps({"wait": f"touch {folder}/waiting; sleep 8"})}
    with subprocess.Popen(first, cwd=ROOT, env=os.environ | at, stdout=subprocess.DEVNULL) as running:
        while not (folder / "waiting").exists():
            assert running.poll() is None
            time.sleep(0.1)
        _, said, document = host.run({})
        assert "another run works on" in document["findings"][0]["summary"], said
        assert f"pid {running.pid}" in document["findings"][0]["summary"]
        assert running.wait(60) == 0
    assert host.state() == before


@pytest.mark.parametrize("signal", ["INT", "TERM", "HUP"])
def test_a_run_that_is_asked_once_to_end_puts_back(host: Host, signal: str) -> None:
    before = host.state()
    code, said, document = host.run({"wait": f"kill -{signal} $RUN_PID"})
    assert (code, restored(document)) == (2, True), said
    assert host.state() == before


def test_ctrl_c_again_and_again_leaves_it_to_the_lease(host: Host) -> None:
    before = host.state()
    at = dict.fromkeys(("wait", "put back", "wait again"), "kill -INT $RUN_PID")
    code, said, document = host.run(at)
    assert (code, restored(document)) == (12, False), said
    assert "Ctrl-C once more leaves that to the host's lease" in said
    assert f"by hand: `rm -f /run/systemd/system/{UNIT}.d/zzz-dflash-" in said
    host.comes_back(before, LEASE_S + host.service.start_s)


def test_a_host_that_is_rebooted_in_the_middle_is_as_before_and_the_run_says_so(host: Host) -> None:
    before, boot = host.state(), host.service.machine.boot_id()
    _, said, document = host.run({"wait": host.ssh("systemctl reboot")})
    now = host.service.machine.boot_id()
    assert now != boot
    assert restored(document) is True, said
    told = f"the host was rebooted meanwhile (boot {boot[:8]} ended, {now[:8]} runs), which took drop-in, lock and"
    assert told in said
    assert (host.state(), host.leftovers()) == (before, "")


def test_a_host_that_is_rebooted_after_its_run_was_killed_is_as_before(host: Host) -> None:
    before = host.state()
    code, said, _ = host.run({"wait": "kill -KILL $RUN_PID"}, lease=300)
    assert code == -9, said
    assert "zzz-dflash" in host.state()
    host.service.machine.reboot()
    host.comes_back(before, host.service.start_s)
    assert host.leftovers() == ""


def test_a_unit_that_does_not_start_at_boot_is_not_put_back_by_one_and_that_is_said(host: Host) -> None:
    host.service.machine.sh(f"systemctl disable -q {UNIT}")
    before = host.state()
    try:
        code, said, document = host.run({"wait": host.ssh("systemctl reboot")})
        assert (code, restored(document)) == (12, False), said
        assert "it does not serve as it did: it is inactive; the host was rebooted meanwhile" in said
        host.service.machine.sh(f"systemctl start {UNIT}")
        host.comes_back(before, host.service.start_s)
    finally:
        host.service.machine.sh(f"systemctl enable -q --now {UNIT}")


BUSY_FROM = 1.5
"""Load of a machine from which on its own time says nothing."""


def test_a_restart_is_noticed_within_a_second_and_our_own_time_is_short(
    host: Host, figures: list[str]
) -> None:
    quiet = os.getloadavg()[0] < BUSY_FROM
    code, said, document = host.run({}, "-k", "in_time", "--dflash-allow=probe,restart")
    assert code in {0, 10}, said
    (found,) = document["findings"]
    measures = found["measures"]
    own_s = measures["ready_s"] - measures["engine_s"]
    figures.append(
        f"a restart: {measures['ready_s']:.2f} s, of which the engine took {measures['engine_s']:.2f} s; ready was "
        f"noticed {measures['noticed_after_s']:.2f} s later and confirmed in {measures['confirmed_after_s']:.2f} s; our "
        f"own time {own_s:.2f} s" + ("" if quiet else f" (load of this machine: {os.getloadavg()[0]:.1f})")
    )
    assert measures["noticed_after_s"] < (1.0 if quiet else 20.0)
    assert own_s < (2.0 if quiet else 30.0)
