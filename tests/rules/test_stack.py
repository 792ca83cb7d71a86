"""Driver, toolkit and packages."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.facts.nvidia import Driver
from pytest_dflash.facts.packages import Packages
from pytest_dflash.facts.reading import Absent, Reading, Value
from pytest_dflash.facts.toolkit import Compiler, Toolkit
from pytest_dflash.findings import Outcome
from pytest_dflash.rules import stack
from tests.rules.healthy_host import NA, NOT_HEARD, gpus

MODULE = Value(Driver("580.95.05", open_module=True, line="NVRM version: …"), "/proc/driver/nvidia/version")


def installed(**changes: Any) -> Value[Packages]:
    fields: dict[str, Any] = {
        "interpreter": "/opt/venv/bin/python",
        "pid": 7,
        "versions": {"torch": "2.9.1+cu130"},
        "where": {"torch": "/opt/venv/lib/torch.dist-info"},
        "roots": ("/opt/venv/lib",),
    }
    return Value(Packages(**fields | changes), "/opt/venv/bin/python")


def toolkit(nvcc: Reading[Compiler]) -> Value[Toolkit]:
    return Value(Toolkit(nvcc, (), Absent(), {}, {}, 7), "/proc/7/environ")


def test_a_version_is_compared_as_pep_440_does() -> None:
    assert stack.driver(MODULE, ">=580.65").summary == "driver version: 580.95.05"
    judgement = stack.driver(MODULE, ">=590")
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == "driver version: expected >=590, found 580.95.05"
    assert not stack.satisfies("not a version", ">=0")
    assert stack.satisfies("2.9.1rc1+cu130", ">=2.9")


def test_a_module_that_is_not_loaded_fails_and_says_where_it_was_looked_for() -> None:
    judgement = stack.driver(
        Absent("/proc/driver/nvidia/version: the NVIDIA kernel module is not loaded"), ">=1"
    )
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == (
        "driver version: expected >=1, and there is none "
        "(/proc/driver/nvidia/version: the NVIDIA kernel module is not loaded)"
    )


@pytest.mark.parametrize(
    "reading, outcome",
    [
        (toolkit(Value(Compiler("/usr/local/cuda/bin/nvcc", Value("13.0"), "PATH"))), "pass"),
        (toolkit(Value(Compiler("/usr/local/cuda/bin/nvcc", Value("12.4"), "PATH"))), "fail"),
        (toolkit(Value(Compiler("/usr/local/cuda/bin/nvcc", NOT_HEARD, "PATH"))), "unproven"),
        (toolkit(Absent("PATH")), "fail"),
        (Absent("the unit has no process"), "unproven"),
        (NOT_HEARD, "unproven"),
    ],
)
def test_the_toolkit_is_that_of_the_service(reading: Any, outcome: str) -> None:
    assert stack.cuda_toolkit(reading, ">=12.9").outcome == outcome


def test_the_compute_capability_is_judged_for_each_gpu() -> None:
    found = stack.compute_capability(gpus(3, compute_capability="9.0"), "12.0")
    assert [each.outcome for each in found] == ["fail", "pass", "pass"]
    assert found[0].param == "GPU-0"
    assert stack.compute_capability(gpus(1, compute_capability=NA), "12.0")[0].outcome is Outcome.UNPROVEN
    assert stack.compute_capability(NOT_HEARD, "12.0")[0].outcome is Outcome.UNPROVEN


@pytest.mark.parametrize(
    "reading, specifier, outcome, said",
    [
        (installed(), ">=2.9", "pass", "package torch: 2.9.1+cu130"),
        (installed(), "==2.9.1", "pass", "package torch: 2.9.1+cu130"),
        (installed(), ">=2.10", "fail", "package torch: expected >=2.10, found 2.9.1+cu130"),
        (installed(versions={}), ">=2", "fail", "and there is none (/opt/venv/bin/python: /opt/venv/lib)"),
        (
            installed(versions={}, notes=("PYTHONPATH is not known",)),
            ">=2",
            "unproven",
            "PYTHONPATH is not known",
        ),
        (
            installed(duplicates={"torch": ("2.8", "2.9")}),
            ">=2",
            "fail",
            "is installed 2 times in one folder: 2.8, 2.9",
        ),
        (Absent("pid 7, /bin/true"), ">=2", "unproven", "the service runs no Python interpreter"),
        (NOT_HEARD, ">=2", "unproven", "`tool` is not there"),
    ],
)
def test_a_package_is_that_of_the_serving_interpreter(
    reading: Any, specifier: str, outcome: str, said: str
) -> None:
    judgement = stack.package(reading, "torch", {"torch": specifier})
    assert judgement.outcome == outcome
    assert said in judgement.summary
    assert judgement.param == "torch"


def test_names_are_compared_in_their_normal_form_and_the_remedy_names_the_interpreter() -> None:
    judgement = stack.package(
        installed(versions={"flashinfer-python": "0.5"}), "FlashInfer_Python", {"FlashInfer_Python": ">=0.6"}
    )
    assert judgement.outcome is Outcome.FAIL
    assert judgement.remedy == (
        "`/opt/venv/bin/python -m pip install 'FlashInfer_Python>=0.6'`, then restart the unit"
    )


def test_without_an_expectation_nothing_is_compared() -> None:
    assert stack.driver(MODULE, None).outcome is Outcome.NOT_APPLICABLE
    assert stack.cuda_toolkit(NOT_HEARD, None).outcome is Outcome.NOT_APPLICABLE
    assert stack.compute_capability(gpus(), None)[0].outcome is Outcome.NOT_APPLICABLE
    assert stack.package(installed(), None, {}).outcome is Outcome.NOT_APPLICABLE
