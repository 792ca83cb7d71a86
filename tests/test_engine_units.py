"""Which units of a host are an engine's: by listeners, processes and commands."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.engine_units import (
    at_work,
    engine_of,
    engine_units,
    here,
    listening,
    named,
    unit_of,
    users_own,
)
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.services import SERVICES, ServiceUnit
from pytest_dflash.facts.sockets import LISTENER_OWNERS, Owner

SGLANG = ("/opt/venv/bin/python", "-m", "sglang.launch_server", "--port", "30000")


def process(argv: tuple[str, ...]) -> Process:
    return Process(1, 0, argv, Absent(), Silent("not asked"), 1, 0, "/system.slice/a.service", {})


def unit(name: str, state: str, argv: tuple[str, ...] = SGLANG) -> ServiceUnit:
    return ServiceUnit(name, state, "", argv)


def test_units_that_listen_come_first_then_those_that_failed() -> None:
    services = (unit("old.service", "inactive"), unit("bad.service", "failed"), unit("up.service", "active"))
    found = engine_units({"up.service": "sglang"}, Value(services))
    assert list(found) == ["up.service", "bad.service", "old.service"]


def test_every_unit_that_somebody_wants_to_run_is_looked_at() -> None:
    services = (unit("a.service", "active"), unit("b.service", "failed"), unit("old.service", "inactive"))
    units = {"a.service": "sglang", "b.service": "vllm", "old.service": "sglang"}
    assert at_work(units, {"a.service": "sglang"}, Value(services)) == ["b.service", "a.service"]
    assert at_work({"old.service": "sglang"}, {}, Value(services)) == ["old.service"]
    assert at_work({}, {}, Silent("no")) == []


def test_a_unit_of_no_engine_is_none_of_ours() -> None:
    assert engine_units({}, Value((unit("ssh.service", "active", ("sshd", "-D")),))) == {}


def test_a_host_that_lists_no_services_has_those_that_listen() -> None:
    assert engine_units({"a.service": "vllm"}, Silent("no")) == {"a.service": "vllm"}


def test_only_units_whose_listener_runs_a_known_engine_are_listening() -> None:
    owners = {
        1: Owner(1, "/system.slice/sglang.service", SGLANG),
        2: Owner(2, "/system.slice/sshd.service", ("sshd",)),
        3: Owner(3, "/user.slice/session-3.scope", SGLANG),
    }
    assert listening(Value(owners)) == {"sglang.service": "sglang"}
    assert listening(Silent("no ss")) == {}


def test_a_loading_unit_is_known_by_its_process_though_nobody_listens_yet() -> None:
    assert engine_of(Value((process(("bash",)), process(SGLANG)))) == "sglang"
    assert engine_of(Value((process(("bash",)),))) is None
    assert engine_of(Silent("no permission")) is None


@pytest.mark.parametrize(
    "cgroup, unit",
    [
        ("/system.slice/system-sglang.slice/sglang@0.service", "sglang@0.service"),
        ("/system.slice/docker-1234.scope", None),
        ("/", None),
    ],
)
def test_the_unit_is_the_last_service_of_the_cgroup(cgroup: str, unit: str | None) -> None:
    assert unit_of(Owner(1, cgroup, ())) == unit


def test_a_unit_is_told_with_its_engine_and_how_systemd_has_it() -> None:
    services = Value((unit("a.service", "failed"),))
    assert named({"a.service": "sglang", "b.service": "vllm"}, services) == [
        "a.service (sglang, failed)",
        "b.service (vllm)",
    ]


def test_a_unit_beneath_a_user_s_manager_is_that_user_s_own() -> None:
    owners = {
        1: Owner(1, "/user.slice/user-1000.slice/user@1000.service/app.slice/mine.service", SGLANG),
        2: Owner(2, "/system.slice/system-sglang.slice/sglang@0.service", SGLANG),
        3: Owner(3, "/user.slice/user-1000.slice/session-3.scope", SGLANG),
    }
    assert users_own(Value(owners)) == {"mine.service"}
    assert users_own(Silent("no ss")) == frozenset()


def test_the_host_is_asked_for_listeners_and_services_and_told_in_words() -> None:
    answers: dict[Any, Any] = {
        SERVICES: Value((unit("old.service", "inactive"),)),
        LISTENER_OWNERS: Value({1: Owner(1, "/system.slice/sglang.service", SGLANG)}),
    }
    assert here(answers.__getitem__) == ["sglang.service (sglang)", "old.service (sglang, inactive)"]


@pytest.mark.parametrize("scope", ["tmux-spawn-1.scope", "user.slice/libpod-4f9a.scope", "session.slice"])
def test_what_a_user_started_by_hand_is_no_unit_of_theirs(scope: str) -> None:
    owner = Owner(7, f"/user.slice/user-1000.slice/user@1000.service/{scope}", SGLANG)
    assert unit_of(owner) is None
    assert users_own(Value({7: owner})) == frozenset()
    assert listening(Value({7: owner})) == {}
