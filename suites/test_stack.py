"""Driver, CUDA toolkit and packages, as the serving process has them; not as the ssh shell has them."""

from __future__ import annotations

from pytest_dflash.checks import check
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.findings import Judgement
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import stack


@check("stack.driver")
def test_the_driver_is_new_enough(facts: Facts, profile: Profile) -> Judgement:
    return stack.driver(facts.driver, profile.stack.driver)


@check("stack.cuda_toolkit")
def test_the_service_finds_the_cuda_toolkit(facts: Facts, profile: Profile) -> Judgement:
    return stack.cuda_toolkit(facts.toolkit, profile.stack.cuda_toolkit)


@check("stack.compute_capability")
def test_the_gpus_have_the_compute_capability(facts: Facts, profile: Profile) -> list[Judgement]:
    return stack.compute_capability(facts.gpus, profile.stack.compute_capability)


@check("stack.package", per="package")
def test_package_of_the_serving_interpreter(facts: Facts, profile: Profile, package: str | None) -> Judgement:
    return stack.package(facts.packages, package, profile.stack.packages)
