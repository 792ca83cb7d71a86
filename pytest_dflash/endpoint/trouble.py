"""What goes wrong between a request and its answer, and what a person does then.

Law: values and one table; no request is made here, and no key gets into a message.
"""

from __future__ import annotations

from enum import StrEnum

from pytest_dflash.errors import EndpointError


class Kind(StrEnum):
    """What went wrong."""

    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    CUT_OFF = "cut_off"
    REDIRECT = "redirect"
    UNAUTHORISED = "unauthorised"
    NOT_FOUND = "not_found"
    REJECTED = "rejected"
    SERVER_ERROR = "server_error"
    NOT_JSON = "not_json"
    TOO_LARGE = "too_large"
    BAD_KEY = "bad_key"


REMEDIES = {
    Kind.REFUSED: "check that the unit runs and on which address and port it listens: `ss -ltnp` on the host",
    Kind.UNREACHABLE: "check the name, the route and the firewall from here; leave endpoint.url out to go by ssh",
    Kind.TIMEOUT: "look at the engine's log: a scheduler that hangs still accepts connections",
    Kind.TLS: "name the authority's certificate in endpoint.ca_file, or ask by http if the port speaks no TLS",
    Kind.CUT_OFF: "look at the engine's log and restart counter: it may have died during the request",
    Kind.REDIRECT: "name the final address in endpoint.url: redirects are not followed, a key would go along",
    Kind.UNAUTHORISED: "set the variable that endpoint.api_key_env names to the key of this service",
    Kind.NOT_FOUND: "check base path and model name: `served_model` must be an id that /v1/models lists",
    Kind.REJECTED: "read the message: the engine does not accept this request",
    Kind.SERVER_ERROR: "read the engine's log at the time of the request",
    Kind.NOT_JSON: "check that endpoint.url leads to the engine and not to a proxy's page",
    Kind.TOO_LARGE: "check that endpoint.url leads to the engine",
    Kind.BAD_KEY: "set the variable that endpoint.api_key_env names to the bare key, without quotation marks",
}
"""Kind of trouble to the next step."""


class EndpointTrouble(EndpointError):  # noqa: N818 - the state of the endpoint, not a mishap of ours
    """A request got no usable answer. `status` is the HTTP status where one came."""

    def __init__(self, kind: Kind, message: str, status: int | None = None) -> None:
        super().__init__(message, REMEDIES[kind])
        self.kind = kind
        self.status = status


def of_status(status: int) -> Kind | None:
    """What a status says went wrong; None for success."""
    if status < 300:
        return None
    if status < 400:
        return Kind.REDIRECT
    if status >= 500:
        return Kind.SERVER_ERROR
    return {401: Kind.UNAUTHORISED, 403: Kind.UNAUTHORISED, 404: Kind.NOT_FOUND}.get(status, Kind.REJECTED)
