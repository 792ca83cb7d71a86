"""Driver, CUDA toolkit and packages, as the serving process has them; not as the ssh shell has them."""

from __future__ import annotations

from pytest_dflash.checks import check
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.findings import Judgement
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import fitting, stack


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


@check("stack.companions")
def test_packages_that_belong_together_are_of_one_release(facts: Facts) -> Judgement:
    return fitting.companions(facts.packages, facts.serving)


@check("stack.torch_and_toolkit")
def test_kernels_are_compiled_with_the_cuda_of_torch(facts: Facts) -> Judgement:
    return fitting.torch_and_toolkit(facts.packages, facts.toolkit)


@check("stack.built_for_gpus")
def test_torch_was_built_for_every_gpu(facts: Facts) -> list[Judgement]:
    return fitting.built_for_gpus(facts.packages, facts.gpus)
