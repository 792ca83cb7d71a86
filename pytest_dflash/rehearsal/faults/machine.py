"""Faults below the service: cards, driver, disks, memory, toolkit, packages.

Law: a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import venv
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.faults.fault import Fault

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost


def _older_flashinfer(host: StandInHost) -> None:
    name = "flashinfer-python"
    (held,) = host.site_packages.glob("flashinfer_python-*.dist-info")
    held.rename(host.folder / "replaced.dist-info")
    venv.install(host.site_packages, name, "0.5.3")


MACHINE = (
    Fault(
        "package-version",
        "read",
        ("stack.package[flashinfer-python]",),
        "a package of the serving interpreter is older than expected",
        layer="python",
        severity="silent-slow",
        says="0.5.3",
        before=_older_flashinfer,
    ),
    Fault(
        "gpu-missing",
        "read",
        ("gpu.count",),
        "nvidia-smi lists seven of eight GPUs",
        layer="hardware",
        severity="down",
        says="expected 8, found 7",
        before=stages.without_card(5),
    ),
)
