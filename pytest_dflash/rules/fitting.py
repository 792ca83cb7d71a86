"""Which parts of the stack must fit each other, whatever the profile expects.

Law: pure. What fits what is data: tables with range and source. What a wheel does not tell is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

from pytest_dflash.facts.packages import Packages
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.toolkit import Toolkit
from pytest_dflash.findings import Judgement, Outcome, failed, not_applicable, passed
from pytest_dflash.rules.gpu import Gpus, each
from pytest_dflash.rules.judge import Expectation, evidence, unheard

COMPANIONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache"), "vllm#49804, flashinfer#4337"),
    (("triton", "triton-kernels"), "triton's own releases"),
)
"""Packages that must be of one release, its local part (+cu130) apart; and where that was learnt."""
BYPASSES: Mapping[str, str] = {
    "FLASHINFER_DISABLE_VERSION_CHECK": "tokenspeed PR#284: an illegal memory access instead of a clear refusal",
}
"""Variables that turn the engine's own check of this off; and what came of it."""
SINCE_CUDA: Mapping[str, tuple[int, int]] = {
    "8.0": (11, 0),
    "8.6": (11, 1),
    "8.9": (11, 8),
    "9.0": (11, 8),
    "10.0": (12, 8),
    "10.3": (12, 9),
    "12.0": (12, 8),
    "12.1": (12, 9),
}
"""Compute capability to the first CUDA release that compiles for it. Source: the CUDA toolkit's release notes."""
RUNTIMES = (
    "nvidia-cuda-runtime",
    "nvidia-cuda-runtime-cu13",
    "nvidia-cuda-runtime-cu12",
    "nvidia-cuda-runtime-cu11",
)
"""What PyPI's wheels of torch bring along: their version is the CUDA release that torch was built with."""

_LOCAL = re.compile(r"\+cu(\d{2})(\d)\b")


def companions(packages: Reading[Packages], process: Reading[Process]) -> Judgement:
    """Packages that are parts of one thing are of one release, and nobody turned the check of that off."""
    if not isinstance(packages, Value):
        return unheard("whether packages fit each other", "package metadata", packages)
    versions, rest = packages.value.versions, {"evidence": (evidence("package metadata", packages),)}
    sets = [[name for name in names if name in versions] for names, _ in COMPANIONS]
    apart = [names for names in sets if len({base(versions[name]) for name in names}) > 1]
    if apart:
        found = ", ".join(f"{name} {versions[name]}" for name in apart[0])
        return failed(
            f"packages that belong together are of different releases: {found}",
            expected="one release",
            observed=[f"{name} {versions[name]}" for names in apart for name in names],
            cause="one of them was upgraded alone: kernels are loaded that were built for another interface",
            remedy=f"`{packages.value.interpreter} -m pip install` all of them in one release, then restart the unit",
            **rest,
        )
    environ = process.value.environ if isinstance(process, Value) else process
    off = [
        name
        for name in BYPASSES
        if isinstance(environ, Value) and environ.value.get(name, "") not in {"", "0"}
    ]
    if off:
        return failed(
            f"the check that packages fit each other is turned off: {off[0]} ({BYPASSES[off[0]]})",
            expected="absent",
            observed=off,
            cause="somebody silenced a mismatch instead of mending it",
            remedy=f"take {off[0]} out of the unit's environment and restart it",
            **rest,
        )
    together = [names for names in sets if len(names) > 1]
    if not together:
        return not_applicable("no packages that must be of one release are installed")
    shown = "; ".join(f"{', '.join(names)}: {base(versions[names[0]])}" for names in together)
    return passed(f"packages that belong together are of one release: {shown}", **rest)


def base(version: str) -> str:
    """A version without its local part."""
    return version.partition("+")[0]


def cuda_of_torch(packages: Packages) -> tuple[int, int] | None:
    """The CUDA release that torch was built with, where its metadata tells it."""
    if found := _LOCAL.search(packages.versions.get("torch", "")):
        return int(found[1]), int(found[2])
    for name in RUNTIMES if "torch" in packages.versions else ():
        try:
            release = Version(packages.versions[name]).release
        except (KeyError, InvalidVersion):
            continue
        return release[0], release[1] if len(release) > 1 else 0
    return None


def torch_and_toolkit(packages: Reading[Packages], toolkit: Reading[Toolkit]) -> Judgement:
    """The toolkit that kernels are compiled with at run time is of the CUDA that torch was built with."""
    if not isinstance(packages, Value):
        return unheard("which CUDA torch was built with", "package metadata", packages)
    built = cuda_of_torch(packages.value)
    if built is None:
        return not_applicable("no torch is installed whose metadata tells its CUDA release")
    if isinstance(toolkit, Silent):
        return unheard("which CUDA toolkit the service finds", "nvcc of the service", toolkit)
    release = toolkit.value.version if isinstance(toolkit, Value) else toolkit
    if isinstance(release, Silent):
        return unheard("which CUDA toolkit the service finds", "nvcc of the service", release)
    if not isinstance(release, Value):
        return not_applicable("the service finds no CUDA toolkit that could differ")
    rest = {
        "expected": f"CUDA {built[0]}",
        "observed": release.value,
        "evidence": (evidence("nvcc of the service", release, release.value),),
    }
    if release.value.partition(".")[0] != str(built[0]):
        return failed(
            f"torch was built with CUDA {built[0]}.{built[1]}, and the service compiles with {release.value}",
            cause="kernels that are compiled at run time load another runtime than torch did, and fail at their first use",
            remedy="point CUDA_HOME and PATH of the unit to a toolkit of torch's CUDA, and empty the caches of kernels",
            **rest,
        )
    return passed(
        f"torch was built with CUDA {built[0]}.{built[1]}, the service compiles with {release.value}", **rest
    )


def built_for_gpus(packages: Reading[Packages], gpus: Gpus) -> list[Judgement]:
    """Torch was built with a CUDA that knows each GPU."""
    if not isinstance(packages, Value):
        return [unheard("which CUDA torch was built with", "package metadata", packages)]
    built = cuda_of_torch(packages.value)
    if built is None:
        return [not_applicable("no torch is installed whose metadata tells its CUDA release")]
    return each(
        gpus,
        lambda gpu: gpu.compute_capability,
        Expectation[str](
            "compute capability that torch's kernels can be built for",
            f"known to CUDA {built[0]}.{built[1]}",
            lambda found: SINCE_CUDA.get(found, (0, 0)) <= built,
            shown=lambda found: (
                f"{found} (CUDA {'.'.join(map(str, SINCE_CUDA.get(found, ('?',))))} and later)"
            ),
            cause="the wheel holds no kernels for this card: 'no kernel image is available' at the first use",
            remedy="install torch in a build for a newer CUDA (+cu128 or later for compute capability 12.0)",
            absent=Outcome.NOT_APPLICABLE,
        ),
    )
