"""Where the service is asked: its URL from here, and clients for it.

Law: finds, never judges. The way is found once a connection, since a tunnel may have to be opened for it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from pytest_dflash.endpoint import completion, service
from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.service import Service
from pytest_dflash.errors import EndpointError, HostError, NotServing, Unlocated
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.findings import Outcome
from pytest_dflash.lifecycle.settling import Answered
from pytest_dflash.profile.schema import Profile
from pytest_dflash.reach import Reach

DEADLINE_S = 30.0
HERE = frozenset({"local", "rehearsal"})
"""Schemes of hosts that are this machine: every address of theirs can be asked as it is bound, IPv6's too."""
ANSWER_S = 10.0
"""How long a passive route may take before the service counts as one that does not answer."""
COMPLETION_S, MAX_TOKENS = 60.0, 64
"""The same for the first completion of a fresh process, which may compile kernels."""


@dataclass
class Locator:
    """The way to the service of one profile, found when it is first needed."""

    reach: Reach
    profile: Profile
    url: str | None = None
    _found_over: int = 0
    _handed_out: list[Service] = field(default_factory=list)

    @property
    def key(self) -> str | None:
        """The API key, from the variable that the profile names."""
        name = self.profile.endpoint.api_key_env
        return os.environ.get(name) if name else None

    def service(self, facts: Facts, why: str) -> Service:
        """The service, which is taken to be ready for the reason given.

        Raises:
            NotServing: Nobody listens where it should.
            Unlocated, HostError: No way leads there.
        """
        url = self.find(facts)
        made = Service(self._client(url, self.key), self._client(url, None), facts.port, why)
        self._handed_out.append(made)
        return made

    def answered(self, facts: Facts) -> Answered:
        """Whether a passive route answers."""
        try:
            with self._client(self.find(facts), self.key, ANSWER_S) as client:
                client.get(service.MODELS)
        except (Unlocated, HostError):
            return Answered(answers=None)  # no way leads there; whoever asks for the service is told
        except EndpointError as error:
            return Answered(answers=False, why=str(error))
        return Answered(answers=True)

    def completes(self, facts: Facts) -> Answered:
        """Whether one short completion comes out right; what nobody can judge counts as neither."""
        endpoint = self.profile.endpoint
        try:
            with self._client(self.find(facts), self.key, COMPLETION_S) as client:
                said = client.complete(endpoint.prompt, max_tokens=MAX_TOKENS)
        except (Unlocated, HostError):
            return Answered(answers=None)  # as above
        except EndpointError as error:
            return Answered(answers=False, why=str(error))
        found = completion.judge(said, expect=endpoint.expect, max_tokens=MAX_TOKENS)
        right = {Outcome.PASS: True, Outcome.FAIL: False}.get(found.outcome)
        return Answered(answers=right, why=found.summary)

    def find(self, facts: Facts) -> str:
        """The URL: the profile's, else where the serving process listens, else a tunnel to there.

        Raises:
            NotServing: Nobody listens where it should.
            Unlocated: Where it listens could not be seen.
            HostError: No tunnel can be had.
        """
        connections = self.reach.connection.connections
        if self.url is None or self._found_over != connections:
            self.url = self.profile.endpoint.url or self._listening(facts)
            self._found_over = connections
        return self.url

    def _listening(self, facts: Facts) -> str:
        listeners, port, connection = facts.listeners, facts.port, self.reach.connection
        argv = facts.serving.value.argv if isinstance(facts.serving, Value) else ()
        place = (
            service.place(listeners.value, port, connection.outside, argv)
            if isinstance(listeners, Value) and port
            else None
        )
        unseen = next((each for each in (facts.serving, listeners) if isinstance(each, Silent)), None)
        if place is None and unseen is not None:
            raise Unlocated(
                f"where {self.profile.service.unit} listens could not be seen: {unseen.why}",
                f"mend that, or {service.NAME_IT}",
            )
        if place is None:
            raise NotServing(
                f"where {self.profile.service.unit} listens could not be told",
                service.NAME_IT,
            )
        if self.reach.target.scheme in HERE:
            return service.url(service.address(place), place.port, secure=place.secure)
        return service.base_url(place, connection.forward)

    def _client(self, url: str, key: str | None, deadline_s: float = DEADLINE_S) -> Client:
        endpoint, model = self.profile.endpoint, self.profile.service.served_model
        return Client(url, key=key, ca_file=endpoint.ca_file, served_model=model, deadline_s=deadline_s)

    def close(self) -> None:
        """Closes every client that was handed out; may be called twice."""
        while self._handed_out:
            self._handed_out.pop().close()
