"""What is right about driver, toolkit and packages.

Law: pure. Versions are compared as PEP 440 does; the local part (+cu130) is kept for show and does not count.
"""

from __future__ import annotations

from collections.abc import Mapping

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from pytest_dflash.facts.nvidia import Driver
from pytest_dflash.facts.packages import Packages
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.toolkit import Toolkit
from pytest_dflash.findings import Judgement, Outcome, not_applicable
from pytest_dflash.rules.gpu import Gpus, each
from pytest_dflash.rules.judge import Expectation, compare


def satisfies(version: str, specifier: str) -> bool:
    """Whether a version satisfies a specifier; pre-releases count, what is no version satisfies nothing."""
    try:
        parsed = Version(version)
    except InvalidVersion:
        return False
    return SpecifierSet(specifier).contains(parsed, prereleases=True)


def versioned(
    what: str, specifier: str, remedy: str, cause: str | None = None, param: str | None = None
) -> Expectation[str]:
    """The expectation that a version satisfies a specifier."""
    return Expectation(
        what, specifier, lambda found: satisfies(found, specifier), cause=cause, remedy=remedy, param=param
    )


def driver(module: Reading[Driver], specifier: str | None) -> Judgement:
    """The loaded kernel module is new enough."""
    if specifier is None:
        return not_applicable("no stack.driver is expected")
    version: Reading[str] = Value(module.value.version, module.where) if isinstance(module, Value) else module
    remedy = "install the driver and reboot: the loaded module counts, not the installed package"
    return compare("kernel module", version, versioned("driver version", specifier, remedy))


def cuda_toolkit(toolkit: Reading[Toolkit], specifier: str | None) -> Judgement:
    """The CUDA toolkit that the service finds is new enough."""
    if specifier is None:
        return not_applicable("no stack.cuda_toolkit is expected")
    version: Reading[str] = toolkit.value.version if isinstance(toolkit, Value) else toolkit
    if isinstance(toolkit, Absent):
        version = Silent("the unit has no process whose toolkit could be told", toolkit.where)
    return compare(
        "nvcc of the service",
        version,
        versioned(
            "CUDA toolkit that the service finds",
            specifier,
            "set CUDA_HOME and PATH in the unit (Environment=), not in a login shell",
            "FlashInfer and Triton compile at run time with the toolkit on the service's own PATH",
        ),
    )


def compute_capability(gpus: Gpus, expected: str | None) -> list[Judgement]:
    """Each GPU has the compute capability that the kernels were built for."""
    if expected is None:
        return [not_applicable("no stack.compute_capability is expected")]
    remedy = "the profile is for other GPUs, or kernels for these are missing"
    return each(
        gpus,
        lambda gpu: gpu.compute_capability,
        Expectation(
            "compute capability",
            expected,
            lambda found: found == expected,
            remedy=remedy,
            absent=Outcome.UNPROVEN,
        ),
    )


def package(packages: Reading[Packages], name: str | None, wanted: Mapping[str, str]) -> Judgement:
    """One package of the serving interpreter."""
    if name is None:
        return not_applicable("no stack.packages are expected")
    specifier = wanted[name]
    reading: Reading[str]
    remedy = f"install {name}{specifier} into the environment of the service"
    if isinstance(packages, Value):
        key = canonicalize_name(name)
        found = packages.value.versions.get(key)
        remedy = f"`{packages.value.interpreter} -m pip install '{name}{specifier}'`, then restart the unit"
        doubt = "; ".join(packages.value.notes)
        if found is not None:
            reading = Value(found, packages.value.where.get(key, packages.where))
        elif doubt:
            reading = Silent(
                f"it is in none of the folders searched, and the search was not whole: {doubt}",
                packages.where,
            )
        else:
            reading = Absent(f"{packages.value.interpreter}: {', '.join(packages.value.roots)}")
    elif isinstance(packages, Absent):
        reading = Silent("the service runs no Python interpreter", packages.where)
    else:
        reading = packages
    cause = "another environment was upgraded than the one that the unit starts"
    expectation = versioned(f"package {name}", specifier, remedy, cause, param=name)
    judgement = compare("package metadata", reading, expectation)
    if (
        isinstance(packages, Value)
        and len(twice := packages.value.duplicates.get(canonicalize_name(name), ())) > 1
    ):
        return Judgement(
            outcome=Outcome.FAIL,
            summary=f"package {name} is installed {len(twice)} times in one folder: {', '.join(twice)}",
            param=name,
            expected=specifier,
            observed=list(twice),
            evidence=judgement.evidence,
            cause="an interrupted upgrade left old metadata behind; which version Python takes is chance",
            remedy=remedy,
        )
    return judgement
