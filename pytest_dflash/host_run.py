"""The composition root: where connection, facts, chain and client of a host are put together.

Law: the only place where objects are wired. Each thing is made once, when it is first asked for; `close` ends
them all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from typing import Any

import pytest

from pytest_dflash import waivers
from pytest_dflash.checks import Check
from pytest_dflash.endpoint import service
from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.service import Service
from pytest_dflash.engines.registry import dialect
from pytest_dflash.errors import (
    EndpointError,
    HostError,
    HostUnreachable,
    NotServing,
)
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.host_facts import ALIVE, ALL, Facts
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.named_files import named_files
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Evidence, Finding, Json, Judgement, Outcome, failed, passed, unproven
from pytest_dflash.levels import Allowed
from pytest_dflash.lifecycle.allowance import Allowance
from pytest_dflash.lifecycle.phase import Phase
from pytest_dflash.lifecycle.readiness import Settled, wait_until_settled
from pytest_dflash.lifecycle.settling import Answered, Settling, reasons
from pytest_dflash.profile.loader import LoadedProfile
from pytest_dflash.profile.schema import Profile
from pytest_dflash.reach import Reach
from pytest_dflash.redaction import Redactor
from pytest_dflash.witness.chain import Chain, Sources

ANSWER_S = 10.0
"""How long a passive route may take before the service counts as one that does not answer."""


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
    """

    name: str
    reach: Reach
    loaded: LoadedProfile
    allowed: Allowed
    ready_timeout_s: float
    allowance: Allowance = field(default_factory=Allowance)
    drained: bool = False
    tell: Callable[[str], None] = lambda _line: None
    carriers: dict[str, str] = field(default_factory=dict)
    unreachable: bool = False
    url: str | None = None

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
        return Redactor([self.key] if self.key else [])

    @property
    def key(self) -> str | None:
        """The API key, from the variable that the profile names."""
        name = self.profile.endpoint.api_key_env
        return os.environ.get(name) if name else None

    @cached_property
    def collector(self) -> Collector:
        """Asks the host."""
        return Collector(self.reach.connection, self.profile.service.unit, self.redactor)

    @property
    def settled(self) -> tuple[Facts, Settled]:
        """The facts once the unit stands still: ready, or in a phase that waiting does not mend.

        Raises:
            HostError: The host did not answer; it is asked once, and the same error is raised again.
        """
        if isinstance(self._settled, HostError):
            raise self._settled
        return self._settled

    @cached_property
    def _settled(self) -> tuple[Facts, Settled] | HostError:
        try:
            return self._settle()
        except HostError as error:
            return error

    def _settle(self, before: str | None = None) -> tuple[Facts, Settled]:
        """Waits until the unit stands still; `before`: the invocation of before a restart that we asked for."""
        wait = partial(wait_until_settled, timeout_s=self.ready_timeout_s, before=before, progress=self.tell)
        return Settling(
            everything=lambda: self._facts(ALL),
            alive=lambda: self._facts(ALIVE, passive=False),
            answered=self._answered,
            dialect=self.dialect,
            wait=wait,
        ).settle()

    def _answered(self, facts: Facts) -> Answered:
        """Whether a passive route answers."""
        try:
            with self._client(self._url(facts), self.key, ANSWER_S) as client:
                client.get(service.MODELS)
        except EndpointError as error:
            return Answered(answers=False, why=str(error))
        except HostError:
            return Answered(answers=None)  # no way leads there; whoever asks for the service is told
        return Answered(answers=True)

    def _facts(self, probes: Any, *, passive: bool = True) -> Facts:
        named = named_files(self.dialect.file_flags, self.dialect.folder_flags)
        asked = [*probes, named] if probes is ALL else probes
        return Facts(self.collector.collect(asked, passive=passive), self.dialect.runs, self._port, named)

    def _port(self, argv: Any) -> int:
        port = self.dialect.from_argv(argv, {}, None).values.get("port")
        return (
            port
            if isinstance(port, int)
            else int(port)
            if isinstance(port, str) and port.isdigit()
            else self.dialect.default_port()
        )

    @property
    def facts(self) -> Facts:
        """What the host said, once the unit stood still."""
        return self.settled[0]

    def identity_now(self) -> Reading[Identity]:
        """Who runs at this moment."""
        return self.collector.identity()

    @cached_property
    def service(self) -> Service:
        """The service, ready.

        Raises:
            NotServing: It is not, with what it does instead.
            HostError: No way leads there.
        """
        facts, settled = self.settled
        if settled.phase is not Phase.READY:
            raise NotServing(f"{self.profile.service.unit} does not serve: {settled.why}")
        url = self._url(facts)
        return Service(self._client(url, self.key), self._client(url, None), facts.port, settled.why)

    def _client(self, url: str, key: str | None, deadline_s: float = 30.0) -> Client:
        endpoint, model = self.profile.endpoint, self.profile.service.served_model
        return Client(url, key=key, ca_file=endpoint.ca_file, served_model=model, deadline_s=deadline_s)

    def _url(self, facts: Facts) -> str:
        """Where the service is asked: found once, since a tunnel is opened for it where it must be."""
        if self.url is None:
            self.url = self.profile.endpoint.url or self._found(facts)
        return self.url

    def _found(self, facts: Facts) -> str:
        listeners, port = facts.listeners, facts.port
        connection = self.reach.connection
        found = (
            service.place(listeners.value, port, connection.outside)
            if isinstance(listeners, Value) and port
            else None
        )
        if found is None:
            raise NotServing(
                f"where {self.profile.service.unit} listens could not be told",
                'name it in the profile: [endpoint] url = "http://…/v1"',
            )
        return service.base_url(found, connection.forward)

    @cached_property
    def info(self) -> Reading[Json]:
        """What the engine answers about itself over HTTP, on a passive route."""
        try:
            found = service.document(self.service.client, self.dialect.info_paths())
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
        sources = Sources(
            unit=self.profile.service.unit,
            unit_files=facts.files,
            loaded=facts.loaded,
            process=facts.serving,
            journal=facts.journal,
            info=self.info,
            config_files=named.value if isinstance(named, Value) else {},
            drafter_config=self._drafter_config(named),
            version=self.version,
            invocation_id=unit.value.invocation_id if isinstance(unit, Value) else None,
        )
        return Chain(sources, self.dialect)

    def _drafter_config(self, named: Reading[Any]) -> Reading[Json]:
        import json  # noqa: PLC0415 - one use

        if not isinstance(named, Value):
            return Silent("the files that the command line names were not read")
        for path, text in named.value.items():
            if path.endswith("/config.json"):
                with suppress(ValueError):
                    return Value(json.loads(text), path)
        return Silent("the drafter's config.json could not be read (a name at a hub, or no permission)")

    def readiness(self) -> Judgement:
        """Whether the unit serves, and why not."""
        facts, settled = self.settled
        if settled.phase is Phase.READY:
            return passed(
                f"{self.profile.service.unit} serves: {settled.why}", expected="ready", observed="ready"
            )
        rest: dict[str, Any] = {"expected": "ready", "observed": str(settled.phase)}
        rest["evidence"] = tuple(
            Evidence(
                source="journal",
                reading="value",
                value=entry.message[:300],
                where="said by pid 1" if entry.from_manager else "said by the service",
            )
            for entry in reasons(facts, settled)
        )
        remedy = f"`journalctl -u {self.profile.service.unit}` tells more; mend, start it, and run this again"
        summary = f"{self.profile.service.unit} does not serve: {settled.why}"
        if settled.phase is Phase.UNKNOWN:
            return unproven(summary, remedy=remedy, **rest)
        return failed(summary, remedy=remedy, **rest)

    def carry(self, what: str, nodeid: str, error: HostError | NotServing) -> Judgement:
        """The first check that meets a failure of the host carries it; the others are blocked by it."""
        carrier = self.carriers.setdefault(what, nodeid)
        self.unreachable = self.unreachable or isinstance(error, HostUnreachable)
        if carrier != nodeid:
            return Judgement(outcome=Outcome.BLOCKED, summary=f"{error} (told by {carrier})")
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
        return self.redactor.mask(text)

    @property
    def touched(self) -> bool:
        """Whether this process asked the host anything."""
        return self.reach.opened is not None or "_settled" in self.__dict__ or bool(self.carriers)

    def _known_identity(self) -> Identity | None:
        known = self.__dict__.get("_settled")
        reading = known[0].transcript.first if isinstance(known, tuple) else None
        return reading.value if isinstance(reading, Value) else None

    def document(self) -> dict[str, Any]:
        """The host's entry in findings.json."""
        identity = self._known_identity()
        connection = self.collector.connection if "collector" in self.__dict__ else None
        return {
            "name": self.name,
            "unit": self.profile.service.unit,
            "boot_id": identity.boot_id if identity else None,
            "invocation_id": identity.invocation_id if identity else None,
            "main_pid": identity.main_pid if identity else None,
            "engine": self.profile.service.engine,
            "engine_version": self.__dict__.get("version"),
            "commands": connection.commands if connection else 0,
            "connections": connection.connections if connection else 0,
            "changed": False,
            "restored": None,
            "unreachable": self.unreachable,
        }

    def notes(self) -> list[str]:
        """What a reader of the summary should know beside the findings."""
        lines = []
        if not self.loaded.reviewed:
            lines.append(
                f"profile: {self.loaded.path} says reviewed = false: nobody vouches for these expectations yet"
            )
        if self.profile.endpoint.expect is None:
            lines.append("profile: no endpoint.expect, so only the structure of answers is checked")
        return lines

    def close(self) -> None:
        """Closes clients and connection; may be called twice."""
        opened = self.__dict__.get("service")
        if opened is not None:
            opened.close()
        self.reach.close()


RUNS = pytest.StashKey[dict[str, HostRun]]()
"""The runs of a session, by the host's name."""
