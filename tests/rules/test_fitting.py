"""Packages, toolkit and cards against each other."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.facts.packages import Packages
from pytest_dflash.facts.reading import Absent, Reading, Value
from pytest_dflash.facts.toolkit import Compiler, Toolkit
from pytest_dflash.findings import Outcome
from pytest_dflash.rules import fitting
from tests.rules.healthy_host import NOT_HEARD, gpus, process


def installed(**versions: str) -> Value[Packages]:
    named = {name.replace("_", "-"): version for name, version in versions.items()}
    return Value(Packages("/opt/venv/bin/python", 7, named, {}, ("/opt/venv/lib",)), "/opt/venv/bin/python")


def toolkit(release: str) -> Value[Toolkit]:
    nvcc = Value(Compiler("/usr/local/cuda/bin/nvcc", Value(release), "PATH"))
    return Value(Toolkit(nvcc, (), Absent(), {}, {}, 7), "/proc/7/environ")


@pytest.mark.parametrize(
    "versions, environ, outcome",
    [
        ({"flashinfer_python": "0.6.16+cu130", "flashinfer_cubin": "0.6.16"}, {}, "pass"),
        ({"flashinfer_python": "0.6.16", "flashinfer_jit_cache": "0.6.15+cu130"}, {}, "fail"),
        ({"flashinfer_python": "0.6.16"}, {}, "not_applicable"),
        ({"flashinfer_python": "0.6.16"}, {"FLASHINFER_DISABLE_VERSION_CHECK": "1"}, "fail"),
        ({"flashinfer_python": "0.6.16"}, {"FLASHINFER_DISABLE_VERSION_CHECK": "0"}, "not_applicable"),
    ],
)
def test_packages_of_one_thing_are_of_one_release(
    versions: dict[str, str], environ: dict[str, str], outcome: str
) -> None:
    assert fitting.companions(installed(**versions), process(environ=environ)).outcome == outcome


def test_the_packages_that_do_not_fit_are_named_with_their_versions() -> None:
    judgement = fitting.companions(installed(flashinfer_python="0.6.16", flashinfer_cubin="0.6.2"), process())
    assert judgement.summary == (
        "packages that belong together are of different releases: flashinfer-python 0.6.16, flashinfer-cubin 0.6.2"
    )


@pytest.mark.parametrize(
    "versions, built",
    [
        ({"torch": "2.9.1+cu130"}, (13, 0)),
        ({"torch": "2.9.1+cu126.local"}, (12, 6)),
        ({"torch": "2.9.1", "nvidia_cuda_runtime_cu12": "12.8.90"}, (12, 8)),
        ({"torch": "2.9.1", "nvidia_cuda_runtime": "13.0.48"}, (13, 0)),
        ({"torch": "2.9.1", "nvidia_cuda_runtime": "?"}, None),
        ({"torch": "2.9.1+cpu"}, None),
        ({"nvidia_cuda_runtime": "13.0.48"}, None),
    ],
)
def test_the_cuda_of_torch_is_read_from_its_metadata(
    versions: dict[str, str], built: tuple[int, int] | None
) -> None:
    assert fitting.cuda_of_torch(installed(**versions).value) == built


@pytest.mark.parametrize(
    "found, outcome",
    [
        (toolkit("13.9"), "pass"),
        (toolkit("12.8"), "fail"),
        (NOT_HEARD, "unproven"),
        (Absent("the unit has no process"), "not_applicable"),
    ],
)
def test_kernels_are_compiled_with_the_cuda_of_torch(found: Reading[Toolkit], outcome: str) -> None:
    assert fitting.torch_and_toolkit(installed(torch="2.9.1+cu130"), found).outcome == outcome


@pytest.mark.parametrize(
    "torch, capability, outcome",
    [
        ("2.9.1+cu128", "12.0", "pass"),
        ("2.9.1+cu126", "12.0", "fail"),
        ("2.9.1+cu128", "12.1", "fail"),
        ("2.9.1+cu118", "9.0", "pass"),
        ("2.9.1+cu118", "99.0", "pass"),
        ("2.9.1+cu128", NOT_HEARD, "unproven"),
    ],
)
def test_torch_knows_the_cards(torch: str, capability: Any, outcome: str) -> None:
    judgements = fitting.built_for_gpus(installed(torch=torch), gpus(1, compute_capability=capability))
    assert [each.outcome for each in judgements] == [outcome]


def test_nothing_is_passed_where_packages_are_not_heard() -> None:
    found = [
        fitting.companions(NOT_HEARD, process()),
        fitting.torch_and_toolkit(NOT_HEARD, toolkit("13.0")),
        *fitting.built_for_gpus(NOT_HEARD, gpus()),
    ]
    assert {each.outcome for each in found} == {Outcome.UNPROVEN}
