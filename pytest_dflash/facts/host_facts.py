"""Everything that one round trip tells of a host, by name.

Law: which probes are asked, and under which name a suite finds the answer. No decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pytest_dflash.facts import procfs
from pytest_dflash.facts.claim import CLAIM, Claim
from pytest_dflash.facts.disks import DISKS, SHARED_MEMORY, Disk
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.journal import JOURNAL, Journal
from pytest_dflash.facts.kernel import KERNEL, KernelJournal
from pytest_dflash.facts.key_files import KEY_FILES, KeyFile
from pytest_dflash.facts.newest import NEWEST, continued
from pytest_dflash.facts.nvidia import DRIVER, GPU_PROCESSES, GPUS, Driver, Gpu, GpuProcess
from pytest_dflash.facts.packages import PACKAGES, Packages
from pytest_dflash.facts.platform import CLOCK, KERNEL_COMMAND_LINE, MEMORY, SYSTEM, Clock, Memory, System
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.procfs import PROCESSES, Process
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.facts.sockets import LISTENER_OWNERS, LISTENERS, Listener, Owner
from pytest_dflash.facts.starts import PREVIOUS, STARTS, Previous, Starts
from pytest_dflash.facts.systemd import LOADED_COMMAND, UNIT_PROPERTIES, LoadedCommand, Unit, UnitFiles
from pytest_dflash.facts.toolkit import TOOLKIT, Toolkit
from pytest_dflash.facts.transcript import Transcript
from pytest_dflash.facts.unit_lookup import UNIT_FILES

ALIVE: tuple[Probe[Any], ...] = (UNIT_PROPERTIES, PROCESSES, JOURNAL, LISTENERS, LISTENER_OWNERS, CLOCK)
"""What tells how the unit stands: asked again and again while it starts. The log comes before the listeners: an
engine opens its port before it logs that it is ready, so that a ready line without a listener is no mere race."""

PULSE: tuple[Probe[Any], ...] = tuple(NEWEST if probe is JOURNAL else probe for probe in ALIVE)
"""The same, where the earlier lines of the journal are known."""

ALL: tuple[Probe[Any], ...] = (
    *ALIVE,
    LOADED_COMMAND,
    UNIT_FILES,
    KEY_FILES,
    CLAIM,
    PREVIOUS,
    STARTS,
    KERNEL,
    KERNEL_COMMAND_LINE,
    MEMORY,
    SYSTEM,
    SHARED_MEMORY,
    DISKS,
    PACKAGES,
    TOOLKIT,
    DRIVER,
    GPUS,
    GPU_PROCESSES,
)
"""Everything; what may hang comes last."""


@dataclass(frozen=True)
class Facts:
    """The facts of one unit on one host, all of one moment.

    Attributes:
        transcript: The answers.
        is_engine: Whether a command line starts the unit's engine.
        port_of: The port that a command line makes the engine listen on.
        named: The probe for the files that the command line names.
        heard: The journal, where it was put together from several transcripts.
    """

    transcript: Transcript
    is_engine: Callable[[Sequence[str]], bool]
    port_of: Callable[[Sequence[str]], int]
    named: Probe[Mapping[str, str]]
    heard: Reading[Journal] | None = None

    @property
    def identity(self) -> Reading[Identity]:
        """Who was read."""
        return self.transcript.identity

    @cached_property
    def port(self) -> int | None:
        """The port that the engine was told to listen on; None while no process of the unit runs it."""
        engine = procfs.serving_process(self.processes, self.listeners, None, self.is_engine)
        if not isinstance(engine, Value):
            return None
        port = self.port_of(engine.value.argv)
        return procfs.published(self.containers[0].argv, port) if self.containers else port

    @cached_property
    def serving(self) -> Reading[Process]:
        """The unit's process that serves, which need not be MainPID."""
        return procfs.serving_process(self.processes, self.listeners, self.port, self.is_engine)

    @cached_property
    def containers(self) -> tuple[Process, ...]:
        """The unit's processes that only start a container."""
        found = self.processes.value if isinstance(self.processes, Value) else ()
        return tuple(each for each in found if procfs.starts_container(each.argv))

    @cached_property
    def started(self) -> Reading[Process]:
        """The process that has the environment which the manager gave: of a container, the client outside."""
        processes, unit = self.processes, self.unit
        if isinstance(processes, Value) and isinstance(unit, Value):
            main = [each for each in processes.value if each.pid == unit.value.main_pid]
            if self.containers:
                first = (*main, *self.containers)[0]
                return Value(first, f"/proc/{first.pid}")
        return self.serving

    @property
    def named_files(self) -> Reading[Mapping[str, str]]:
        """The texts of the files that the command line names, by path."""
        return self.transcript.reading(self.named)

    @property
    def unit(self) -> Reading[Unit]:
        """The unit as the manager holds it."""
        return self.transcript.reading(UNIT_PROPERTIES)

    @property
    def files(self) -> Reading[UnitFiles]:
        """The unit as the disk holds it."""
        return self.transcript.reading(UNIT_FILES)

    @property
    def key_files(self) -> Reading[tuple[KeyFile, ...]]:
        """Who may read the files with keys that the command line names."""
        return self.transcript.reading(KEY_FILES)

    @property
    def claim(self) -> Reading[Claim]:
        """Which run of ours changes the unit, or died while changing it."""
        return self.transcript.reading(CLAIM)

    @property
    def loaded(self) -> Reading[LoadedCommand]:
        """The command that the manager would start next."""
        return self.transcript.reading(LOADED_COMMAND)

    @property
    def processes(self) -> Reading[tuple[Process, ...]]:
        """The unit's processes."""
        return self.transcript.reading(PROCESSES)

    @property
    def listeners(self) -> Reading[tuple[Listener, ...]]:
        """All listening TCP sockets of the host."""
        return self.transcript.reading(LISTENERS)

    @property
    def listener_owners(self) -> Reading[Mapping[int, Owner]]:
        """Who owns them, by pid."""
        return self.transcript.reading(LISTENER_OWNERS)

    @property
    def journal(self) -> Reading[Journal]:
        """The lines of this invocation."""
        return self.heard or self.transcript.reading(JOURNAL)

    def continuing(self, known: Value[Journal]) -> Facts | None:
        """These facts with the journal known so far and its newest lines; None where they do not fit together."""
        more = continued(known.value, self.transcript.reading(NEWEST))
        return None if more is None else replace(self, heard=Value(more, known.where))

    @property
    def previous(self) -> Reading[Previous]:
        """The invocation before this one, and how it ended."""
        return self.transcript.reading(PREVIOUS)

    @property
    def starts(self) -> Reading[Starts]:
        """How often the unit was started in the last 24 hours."""
        return self.transcript.reading(STARTS)

    @property
    def kernel(self) -> Reading[KernelJournal]:
        """What the kernel said of GPUs and memory since boot."""
        return self.transcript.reading(KERNEL)

    @property
    def kernel_command_line(self) -> Reading[str]:
        """What the kernel was booted with."""
        return self.transcript.reading(KERNEL_COMMAND_LINE)

    @property
    def memory(self) -> Reading[Memory]:
        """Main memory and swap."""
        return self.transcript.reading(MEMORY)

    @property
    def clock(self) -> Reading[Clock]:
        """The host's clocks."""
        return self.transcript.reading(CLOCK)

    @property
    def system(self) -> Reading[System]:
        """What machine this is, and as whom we look at it."""
        return self.transcript.reading(SYSTEM)

    @property
    def disks(self) -> Reading[tuple[Disk, ...]]:
        """The file systems that the service uses."""
        return self.transcript.reading(DISKS)

    @property
    def shared_memory(self) -> Reading[Disk]:
        """Shared memory as the service sees it."""
        return self.transcript.reading(SHARED_MEMORY)

    @property
    def packages(self) -> Reading[Packages]:
        """The packages of the serving interpreter."""
        return self.transcript.reading(PACKAGES)

    @property
    def toolkit(self) -> Reading[Toolkit]:
        """The CUDA toolkit as the service sees it."""
        return self.transcript.reading(TOOLKIT)

    @property
    def driver(self) -> Reading[Driver]:
        """The loaded NVIDIA kernel module."""
        return self.transcript.reading(DRIVER)

    @property
    def gpus(self) -> Reading[tuple[Gpu, ...]]:
        """All GPUs."""
        return self.transcript.reading(GPUS)

    @property
    def gpu_processes(self) -> Reading[tuple[GpuProcess, ...]]:
        """Who computes on them."""
        return self.transcript.reading(GPU_PROCESSES)
