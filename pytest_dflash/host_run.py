"""The composition root: where connection, facts, chain and client of a host are put together.

Law: the only place where objects are wired. Each thing is made once, when it is first asked for; `close` ends
them all.
"""

from __future__ import annotations

import getpass
import os
import platform
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash import engine_units, host_entry, waivers
from pytest_dflash.checks import Check
from pytest_dflash.endpoint import service
from pytest_dflash.endpoint.service import Service
from pytest_dflash.engines.dialect import Load
from pytest_dflash.engines.registry import dialect
from pytest_dflash.errors import EndpointError, HostError, HostUnreachable, NotServing, Unlocated
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.host_facts import ALIVE, ALL, PULSE, Facts
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.named_files import model_config, named_files
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Finding, Json, Judgement, Outcome, failed, unproven
from pytest_dflash.levels import Allowed
from pytest_dflash.lifecycle.allowance import Allowance
from pytest_dflash.lifecycle.changing import Changing
from pytest_dflash.lifecycle.controller import Controller
from pytest_dflash.lifecycle.flagline import Change
from pytest_dflash.lifecycle.phase import WITHOUT_PROCESS, Phase
from pytest_dflash.lifecycle.readiness import Settled, wait_until_settled
from pytest_dflash.lifecycle.settling import Settling
from pytest_dflash.lifecycle.traffic import Rotation
from pytest_dflash.locator import Locator
from pytest_dflash.profile.loader import LoadedProfile
from pytest_dflash.profile.schema import Profile
from pytest_dflash.reach import Reach
from pytest_dflash.redaction import Redactor
from pytest_dflash.rules.readiness import serves
from pytest_dflash.witness.chain import Chain, Sources
from pytest_dflash.witness.setting import follow_flag

LEASE_S, SPARE_S = 1800.0, 120.0
"""Seconds for which the host waits for a run that changed it, where the profile does not say: at least so long, and
longer than a start and the start of the way back with their time for all else."""
RENEWED = ("_settled", "service", "load", "info", "version", "chain")
"""What is read anew after a restart."""


@dataclass
class HostRun:
    """Everything about one unit on one host, each thing made once.

    Attributes:
        name: The host as node ids and findings call it.
        reach: The way there.
        loaded: What is expected.
        ready_timeout_s: How long readiness may take.
        allowance: What may still be spent on restarts.
        drained: A person vouches that nobody else uses the host.
        tell: Takes a line of progress.
        samples: Where measured samples go; None where nothing is written.
        compare: An earlier findings.json, and where it lies.
    """

    name: str
    reach: Reach
    loaded: LoadedProfile
    allowed: Allowed
    ready_timeout_s: float
    allowance: Allowance = field(default_factory=Allowance)
    drained: bool = False
    tell: Callable[[str], None] = lambda _line: None
    samples: Path | None = None
    compare: tuple[Mapping[str, Any], str] | None = None
    carriers: dict[str, str] = field(default_factory=dict)
    unreachable: bool = False
    known: Identity | None = None
    before: Any = None
    texts: Mapping[str, str] = field(default_factory=dict)
    answers: dict[Probe[Any], Reading[Any]] = field(default_factory=dict)

    @property
    def profile(self) -> Profile:
        """What is expected."""
        return self.loaded.profile

    @cached_property
    def dialect(self) -> Any:
        """The engine's dialect."""
        return dialect(self.profile.service.engine)

    @cached_property
    def redactor(self) -> Redactor:
        """Knows the secrets of this run."""
        key = self.locator.key
        return Redactor([key] if key else [])

    @cached_property
    def locator(self) -> Locator:
        """Finds the service."""
        return Locator(self.reach, self.profile)

    @cached_property
    def collector(self) -> Collector:
        """Asks the host."""
        return Collector(
            self.reach.connection,
            self.profile.service.unit,
            self.redactor,
            owner=self.profile.service.user_manager or "",
        )

    @property
    def settled(self) -> tuple[Facts, Settled]:
        """The facts once the unit stands still: ready, or in a phase that waiting does not mend.

        Raises:
            HostError: The host did not answer; it is asked once, and the same error is raised again.
        """
        if isinstance(self._settled, HostError):
            raise self._settled
        return self._settled

    def at_once(self) -> tuple[Facts, Settled]:
        """The facts of this moment, which `facts`, `chain` and `service` are about from then on; waits for nothing."""
        made: tuple[Facts, Settled] = self._settling().at_once()
        self.__dict__["_settled"] = made
        return made

    @property
    def stands(self) -> Settled | None:
        """How the unit stands, where that was asked already and the host answered."""
        known = self.__dict__.get("_settled")
        return known[1] if isinstance(known, tuple) else None

    @cached_property
    def _settled(self) -> tuple[Facts, Settled] | HostError:
        try:
            return self._settle()
        except HostError as error:
            return error

    @cached_property
    def controller(self) -> Controller:
        """Restarts and changes the unit, and puts it back."""
        run = uuid.uuid4().hex[:8]
        lease_s = self.profile.lifecycle.lease_s or max(LEASE_S, 2 * self.ready_timeout_s + SPARE_S)
        return Controller(
            collector=self.collector,
            dialect=self.dialect,
            wait=self._wait_anew,
            run=run,
            who=f"{getpass.getuser()}@{platform.node()}, pid {os.getpid()}, run {run}",
            lease_s=lease_s,
            heals=self.allowed.permits("reconfigure"),
            tell=self.tell,
            afford=self._afford,
            apart=self.rotation.left,
            undrain=self.rotation.by_hand,
        )

    def _afford(self, step: str, restarts: int) -> None:
        """Refuses what does not fit any more, and else counts its restarts."""
        seconds = restarts * (self.profile.lifecycle.ready_within_s or self.ready_timeout_s)
        self.allowance.afford(step, restarts=restarts, seconds=seconds)

    @cached_property
    def changing(self) -> Changing:
        """Changes flags for a while, each followed by the witnesses of the fresh process."""
        optional = self.profile.witnesses.optional

        def prove(name: str, value: Change) -> Judgement:
            return follow_flag(self.chain, name, value, optional)

        return Changing(self.controller, prove, lambda: self.version)

    def renew(self) -> None:
        """Forgets what was read of a process that is no more, but for the reports."""
        self.before = self.__dict__.get("_settled", self.before)
        for name in RENEWED:
            self.__dict__.pop(name, None)

    def _wait_anew(self, beat: Callable[[], object], before: str | None) -> Settled:
        """Waits for the process that a restart has made; its facts are read when they are asked for."""
        self.renew()
        self.allowance.restarted()
        return self._settling(before).anew(beat)

    def _settle(self) -> tuple[Facts, Settled]:
        """Waits until the unit stands still."""
        return self._settling().settle()

    def _settling(self, before: str | None = None) -> Settling:
        """`before`: the invocation of before a restart that we asked for."""
        wait = partial(wait_until_settled, timeout_s=self.ready_timeout_s, before=before, progress=self.tell)
        return Settling(
            everything=lambda: self._facts(ALL),
            alive=lambda: self._facts(ALIVE, passive=False),
            pulse=lambda: self._facts(PULSE, passive=False),
            answered=self.locator.answered,
            dialect=self.dialect,
            wait=wait,
            completes=self.locator.completes if self.allowed.permits("probe") else None,
        )

    def _facts(self, probes: Any, *, passive: bool = True) -> Facts:
        named = named_files(self.dialect.file_flags, self.dialect.folder_flags)
        asked = [*probes, named] if probes is ALL else probes
        found = Facts(self.collector.collect(asked, passive=passive), self.dialect.runs, self._port, named)
        if probes is ALL and isinstance(found.named_files, Value):
            self.texts = found.named_files.value
        return found

    def _port(self, argv: Any) -> int:
        """The port that the command line names, or a file that it names; these are read with all other facts."""
        port = self.dialect.from_argv(argv, self.texts, None).values.get("port")
        return whole(str(port)) or int(self.dialect.default_port())

    @property
    def facts(self) -> Facts:
        """What the host said, once the unit stood still."""
        return self.settled[0]

    def ask(self, probe: Probe[Any]) -> Reading[Any]:
        """The answer to a question of a suite's own, asked once a host."""
        if probe not in self.answers:
            self.answers[probe] = self.collector.collect([probe]).reading(probe)
        return self.answers[probe]

    def identity_now(self) -> Reading[Identity]:
        """Who runs at this moment."""
        return self.collector.identity()

    @cached_property
    def service(self) -> Service:
        """The service, ready.

        Raises:
            NotServing: It is not, with what it does instead.
            Unlocated, HostError: No way leads there.
        """
        facts, settled = self.settled
        if settled.phase is Phase.UNKNOWN:
            self.locator.find(facts)  # where nobody could see who listens, that is what is told
        if settled.phase is not Phase.READY:
            raise NotServing(f"{self.profile.service.unit} does not serve: {settled.why}")
        return self.locator.service(facts, settled.why)

    def load_now(self) -> Reading[Load]:
        """The requests that the engine has at this moment; a unit that does not run has none."""
        if self.settled[1].phase in WITHOUT_PROCESS:
            return Value(Load(0, 0), "systemctl show")
        try:
            return service.load(self.service.client, self.dialect)
        except (EndpointError, HostError) as error:
            return Silent(str(error))

    @cached_property
    def load(self) -> Reading[Load]:
        """The requests that the engine had when that was first asked, and whether it slept."""
        return self.load_now()

    @cached_property
    def rotation(self) -> Rotation:
        """The host's place behind its load balancer: `with rotation.left():` around what changes it."""
        traffic, name = self.profile.traffic, self.reach.target.name
        return Rotation(name, traffic, self.load_now, drained=self.drained, tell=self.tell)

    @cached_property
    def info(self) -> Reading[Json]:
        """What the engine answers about itself over HTTP, on a passive route."""
        try:
            found = service.document(
                self.service.client, self.dialect.info_paths(), self.dialect.info_beside()
            )
        except (NotServing, EndpointError, HostError) as error:
            return Silent(str(error), self.dialect.info_paths()[0])
        return self.redactor.guard(found)

    @cached_property
    def version(self) -> str | None:
        """The engine's version, from its own answer, else from the package of its interpreter."""
        told = self.dialect.version(self.info.value) if isinstance(self.info, Value) else None
        if told:
            return str(told)
        packages = self.facts.packages
        return packages.value.versions.get(self.dialect.name) if isinstance(packages, Value) else None

    @cached_property
    def chain(self) -> Chain:
        """The witnesses of every setting."""
        facts = self.facts
        named = facts.named_files
        unit = facts.unit
        # Read three times and torn each time, as in a crash loop: its parts are of different processes.
        torn = (
            Silent(f"the process moved while it was read: {facts.transcript.torn}")
            if facts.transcript.torn
            else None
        )
        sources = Sources(
            unit=self.profile.service.unit,
            unit_files=facts.files,
            loaded=facts.loaded,
            process=torn or facts.serving,
            started=torn or facts.started,
            journal=torn or facts.journal,
            info=self.info,
            config_files=named.value if isinstance(named, Value) else {},
            drafter_config=model_config(named),
            version=self.version,
            invocation_id=unit.value.invocation_id if isinstance(unit, Value) else None,
        )
        return Chain(sources, self.dialect)

    @property
    def speculative_flags(self) -> tuple[str, ...]:
        """The flags of the running process without which it would not speculate, sorted."""
        argv, begins = self.chain.heard["process_argv"], self.dialect.scoring().speculative_flags
        told = argv.value.values if isinstance(argv, Value) else {}
        return tuple(sorted({each.partition(".")[0] for each in told if begins and each.startswith(begins)}))

    def readiness(self) -> Judgement:
        """Whether the unit serves, and why not."""
        return serves(self.profile.service.unit, *self.settled, here=partial(engine_units.here, self.ask))

    def carry(self, what: str, nodeid: str, error: HostError | EndpointError) -> Judgement:
        """The first check that meets a failure of the host carries it; the others are blocked by it."""
        carrier = self.carriers.setdefault(what, nodeid)
        self.unreachable = self.unreachable or isinstance(error, HostUnreachable)
        if carrier != nodeid:
            return Judgement(outcome=Outcome.BLOCKED, summary=f"{error} (told by {carrier})")
        if isinstance(error, Unlocated):
            return unproven(str(error), remedy=error.remedy)
        if isinstance(error, NotServing):
            return self.readiness() if not error.remedy else failed(str(error), remedy=error.remedy)
        return failed(str(error), remedy=error.remedy or None)

    def waive(self, judgement: Judgement, subject: waivers.Subject, today: date) -> Judgement:
        """The judgement after the profile's waivers."""
        return waivers.apply(judgement, subject, self.profile.waivers, today)

    def finding(
        self, check: Check, nodeid: str, param: str | None, judgement: Judgement, duration_s: float
    ) -> Finding:
        """The judgement with its identity."""
        identity = self._known_identity()
        return Finding(
            check=check.name,
            param=param,
            nodeid=nodeid,
            host=self.name,
            service=self.profile.service.unit,
            invocation_id=identity.invocation_id if identity else None,
            level=check.level,
            judgement=judgement,
            duration_s=duration_s,
        )

    def redact(self, text: str) -> str:
        """The text without secrets."""
        return self.redactor.hide(text)

    @property
    def touched(self) -> bool:
        """Whether this process asked the host anything."""
        asked = bool(self.__dict__.keys() & {"collector", "controller", "_settled"})
        return self.reach.opened is not None or asked or bool(self.carriers)

    def _known_identity(self) -> Identity | None:
        known = self.__dict__.get("_settled")
        reading = known[0].transcript.first if isinstance(known, tuple) else None
        self.known = reading.value if isinstance(reading, Value) else self.known
        return self.known

    def document(self) -> dict[str, Any]:
        """The host's entry in findings.json."""
        return host_entry.document(self, self._known_identity())

    def notes(self) -> list[str]:
        """What a reader of the summary should know beside the findings."""
        return host_entry.notes(self)

    def close(self) -> None:
        """Puts the host back, then closes clients and connection; may be called twice."""
        if "controller" in self.__dict__:
            self.controller.close()
        if "locator" in self.__dict__:
            self.locator.close()
        self.reach.close()


SAMPLES = pytest.StashKey[str]()
"""The folder for samples, as the process that reports knows it."""

RUNS = pytest.StashKey[dict[str, HostRun]]()
"""The runs of a session, by the host's name."""
