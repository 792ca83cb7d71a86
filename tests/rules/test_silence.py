"""Whatever is silent: no rule that hangs on it passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.nvidia import Driver
from pytest_dflash.facts.packages import Packages
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.sockets import Listener
from pytest_dflash.facts.toolkit import Compiler, Toolkit
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.profile.schema import Gpu
from pytest_dflash.rules import endpoint, exposure, gpu, host, reload, restart, stack, systemd
from tests.rules.healthy_host import (
    clock,
    disk,
    files,
    gpus,
    kernel,
    loaded,
    memory,
    process,
    processes,
    unit,
)

PROFILE = Gpu(count=2, name="NVIDIA RTX PRO 6000", pcie_generation=5, pcie_width=16, power_limit_w=600)
FIRST = Absent("no earlier invocation")
COMPILER = Value(Compiler("/usr/local/cuda/bin/nvcc", Value("13.0"), "PATH"))
PACKAGES = Packages("/opt/venv/bin/python", 7, {"torch": "2.9.1"}, {}, ())

Rule = tuple[Callable[..., Judgement | list[Judgement]], Mapping[str, Any], tuple[Any, ...]]
RULES: Mapping[str, Rule] = {
    "host.xid": (host.xid, {"kernel": kernel()}, (gpus(), unit(), clock())),
    "host.disk_space": (host.disk_space, {"disks": Value((disk(),))}, ()),
    "host.shared_memory": (host.shared_memory, {"shm": Value(disk()), "gpus": gpus()}, (process(),)),
    "host.memory": (host.memory, {"memory": memory()}, (kernel(), unit(), FIRST)),
    "gpu.count": (gpu.count, {"gpus": gpus()}, (PROFILE,)),
    "gpu.name": (gpu.name, {"gpus": gpus()}, (PROFILE,)),
    "gpu.pcie_link": (gpu.pcie_link, {"gpus": gpus()}, (PROFILE,)),
    "gpu.power_limit": (gpu.power_limit, {"gpus": gpus()}, (PROFILE,)),
    "gpu.ecc": (gpu.ecc, {"gpus": gpus()}, ()),
    "gpu.persistence_mode": (gpu.persistence_mode, {"gpus": gpus()}, ()),
    "gpu.throttling": (gpu.throttling, {"gpus": gpus()}, ()),
    "gpu.mig": (gpu.mig, {"gpus": gpus()}, ()),
    "gpu.foreign_processes": (
        gpu.foreign_processes,
        {"gpus": gpus(), "users": Value(()), "processes": processes(7)},
        (process(),),
    ),
    "stack.driver": (stack.driver, {"module": Value(Driver("580.1", open_module=True, line=""))}, (">=1",)),
    "stack.cuda_toolkit": (
        stack.cuda_toolkit,
        {"toolkit": Value(Toolkit(COMPILER, (), Absent(), {}, {}, 7))},
        (">=1",),
    ),
    "stack.compute_capability": (stack.compute_capability, {"gpus": gpus()}, ("12.0",)),
    "stack.package": (stack.package, {"packages": Value(PACKAGES)}, ("torch", {"torch": ">=2"})),
    "systemd.loaded": (systemd.loaded, {"unit": unit()}, ()),
    "systemd.active": (systemd.active, {"unit": unit()}, ()),
    "systemd.stable": (systemd.stable, {"unit": unit()}, (FIRST, Silent("x"), clock())),
    "systemd.reloaded": (reload.reloaded, {"unit": unit(), "files": files(), "command": loaded()}, ()),
    "systemd.environment_files": (
        restart.environment_files,
        {"files": files(), "loaded": loaded(environment_files=("/e",)), "process": process()},
        (),
    ),
    "endpoint.served_model": (endpoint.served_model, {"models": Value(("m",))}, ("m",)),
    "exposure.bind": (
        exposure.bind,
        {"listeners": Value((Listener("127.0.0.1", 30000, (7,)),))},
        (30000, "127.0.0.1", processes(7)),
    ),
    "exposure.key_required": (exposure.key_required, {"status": Value(401)}, (True,)),
}
"""Check to its rule, the readings that decide, in their order, and the rest. Chains are judged in their own tests."""


def outcomes(found: Judgement | list[Judgement]) -> list[Outcome]:
    return [each.outcome for each in (found if isinstance(found, list) else [found])]


@pytest.mark.parametrize("check", RULES)
def test_a_healthy_host_passes(check: str) -> None:
    judge, readings, rest = RULES[check]
    assert set(outcomes(judge(*readings.values(), *rest))) == {Outcome.PASS}


REASONS = st.text(max_size=60).filter(lambda why: not any(word in why for word in gpu.LOST))
"""Why nobody spoke. That a GPU is lost is an answer, and drawn from the sources' own texts."""


@pytest.mark.parametrize("check", RULES)
@given(data=st.data(), why=REASONS)
def test_a_silent_reading_never_passes(check: str, data: st.DataObject, why: str) -> None:
    judge, readings, rest = RULES[check]
    silent = data.draw(st.sets(st.sampled_from(sorted(readings)), min_size=1))
    heard = [Silent(why) if name in silent else reading for name, reading in readings.items()]
    found = judge(*heard, *rest)
    assert set(outcomes(found)) == {Outcome.UNPROVEN}
