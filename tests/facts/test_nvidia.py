from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.facts.nvidia import FIELDS, GPU_PROCESSES, GPUS, throttle_reasons
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value

Ask = Callable[..., Reading[Any]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Asks a probe on a host whose nvidia-smi is the given text of sh; `calls` in tmp_path lists its arguments."""

    def answer(probe: Probe[Any], smi: str, root: str = "") -> Reading[Any]:
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n{smi}\n')
        tool.chmod(0o755)
        script = (
            probe.script.replace("ask 15 ", "ask 1 ")
            .replace("ask 8 ", "ask 1 ")
            .replace("seconds + 3", "seconds + 1")
        )
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "R": root}
        run = subprocess.run(
            ["/bin/sh", "-c", script], env=environment, capture_output=True, check=False, timeout=30
        )
        return probe.parse(Reply(run.stdout, run.stderr, run.returncode))

    return answer


ANSWERING = r"""
case $1 in *--query-compute-apps*) exit 0 ;; esac
row=
for field in $(echo "${1#--query-gpu=}" | tr ',' ' '); do
    case " UNKNOWN " in *" $field "*) printf 'Field "%s" is not a valid field to query.\n\n' "$field"; exit 2 ;; esac
    case $field in *reasons.active) cell=0x0000000000000004 ;; *) cell=7 ;; esac
    row="$row${row:+, }$cell"
done
echo "$row"
"""


def test_one_call_asks_everything(ask: Ask, tmp_path: Path) -> None:
    reading = ask(GPUS, ANSWERING)
    assert isinstance(reading, Value)
    assert reading.value[0].temperature_c == Value(7, "nvidia-smi --query-gpu=temperature.gpu")
    assert (
        tmp_path / "calls"
    ).read_text() == f"--query-gpu={','.join(FIELDS)} --format=csv,noheader,nounits\n"


def test_a_refused_field_is_asked_by_its_other_name_or_left_out(ask: Ask, tmp_path: Path) -> None:
    unknown = "pcie.link.gen.hostmax clocks_event_reasons.active remapped_rows.failure"
    reading = ask(GPUS, ANSWERING.replace("UNKNOWN", unknown))
    assert isinstance(reading, Value)
    (gpu,) = reading.value
    assert gpu.throttle_bits == Value(4, "nvidia-smi --query-gpu=clocks_event_reasons.active")
    assert isinstance(gpu.pcie_generation_host_max, Silent)
    assert gpu.rows_remap_failed == Silent(
        "this driver's nvidia-smi does not know the field remapped_rows.failure",
        "nvidia-smi --query-gpu=remapped_rows.failure",
    )
    assert gpu.pstate == Value("7", "nvidia-smi --query-gpu=pstate")
    assert len((tmp_path / "calls").read_text().splitlines()) == 4


def test_a_tool_that_refuses_every_field_is_asked_a_bounded_number_of_times(ask: Ask, tmp_path: Path) -> None:
    reading = ask(GPUS, 'f=${1#*=}; f=${f%%,*}; echo "Field \\"$f\\" is not a valid field to query."; exit 2')
    assert isinstance(reading, Silent)
    assert len((tmp_path / "calls").read_text().splitlines()) == 12


@pytest.mark.parametrize("probe", [GPUS, GPU_PROCESSES], ids=lambda probe: probe.name)
def test_a_tool_that_hangs_and_ignores_signals_is_silence(ask: Ask, probe: Probe[Any]) -> None:
    reading = ask(probe, "trap '' TERM; sleep 4")
    assert isinstance(reading, Silent)
    assert reading.why.startswith("`nvidia-smi` did not answer in time")


def test_a_process_stuck_in_the_driver_is_named(ask: Ask, tmp_path: Path) -> None:
    stuck = tmp_path / "proc/4242"
    stuck.mkdir(parents=True)
    (stuck / "stat").write_text("4242 (nvidia-smi) D 1 1 1 0 -1\n")
    # Nothing ends a process in state D, so `timeout` never comes back: as it does here, while it is stopped.
    reading = ask(GPUS, 'kill -STOP "$PPID"; sleep 2.5; kill -CONT "$PPID"', root=str(tmp_path))
    assert reading == Silent(
        "`nvidia-smi` did not answer in time: in state D: (nvidia-smi), pid 4242", "nvidia-smi --query-gpu"
    )


def test_whatever_was_said_beside_the_rows_is_kept(ask: Ask) -> None:
    lost = "Unable to determine the device handle for GPU0000:98:00.0: Unknown Error"
    reading = ask(GPUS, f"echo '{lost}'\n{ANSWERING}\nexit 255")
    assert isinstance(reading, Value)
    assert reading.where == f"nvidia-smi --query-gpu (it also said: {lost})"


def test_no_device_is_heard_as_none(ask: Ask) -> None:
    assert ask(GPUS, "echo 'No devices were found'; exit 6") == Absent(
        "nvidia-smi --query-gpu: No devices were found"
    )


@pytest.mark.parametrize(
    "bits,reasons",
    [
        (0x0, ()),
        (0x1, ()),
        (0x101, ()),
        (0x4, ("software power cap",)),
        (0x88, ("hardware slowdown", "hardware power brake")),
        (0x61, ("software thermal slowdown", "hardware thermal slowdown")),
        (0x400, ("unknown reason 0x400",)),
    ],
)
def test_idle_is_no_throttling_and_other_bits_are_named(bits: int, reasons: tuple[str, ...]) -> None:
    assert throttle_reasons(bits) == reasons


def test_a_gpu_without_uuid_goes_by_its_bus_address(ask: Ask) -> None:
    cells = ["[Unknown Error]" if field == "uuid" else "7" for field in FIELDS]
    reading = ask(GPUS, f"echo '{', '.join(cells)}'")
    assert isinstance(reading, Value)
    assert reading.value[0].label == "7"


def test_a_host_without_any_nvidia_device_has_no_gpu_and_that_is_heard() -> None:
    reply = Reply(b"no NVIDIA device on the PCI bus, no nvidia-smi, no driver\n")
    assert GPUS.parse(reply) == Absent("no NVIDIA device on the PCI bus, no nvidia-smi, no driver")
    assert GPU_PROCESSES.parse(reply) == Absent("no NVIDIA device on the PCI bus, no nvidia-smi, no driver")


def test_a_missing_nvidia_smi_beside_a_device_or_driver_stays_silent() -> None:
    assert isinstance(GPUS.parse(Reply(b"", b"nvidia-smi is not on PATH\n", 127)), Silent)
