"""What is wrong with a GPU says which card it is, for who stands before the machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.findings import failed, passed
from pytest_dflash.rules.gpu import located


def card(index: Any, bus_id: Any) -> Any:
    return cast("Any", SimpleNamespace(index=index, bus_id=bus_id))


def test_a_failure_names_the_number_and_the_address_of_its_card() -> None:
    gpu = card(Value(3, "nvidia-smi"), Value("0000:C1:00.0", "nvidia-smi"))
    assert located(failed("too slow"), gpu).summary == "too slow (GPU 3, 0000:C1:00.0)"
    assert located(passed("fast"), gpu).summary == "fast"


def test_what_the_driver_does_not_say_is_left_out() -> None:
    assert located(failed("too slow"), card(Silent("no"), Silent("no"))).summary == "too slow"
