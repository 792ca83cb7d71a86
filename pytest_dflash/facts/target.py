"""Which machine a `--host` names: SPEC read into parts, and everything refused that could act by itself.

Law: text in, values out; no name is looked up, nothing is run. What passes here may be handed to ssh: it holds
no character that a shell, an ssh option or a `%` token of an ssh config could act upon.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_dflash.errors import UsageError

SCHEMES = ("ssh", "local", "docker", "podman", "ansible")
FORMS = (
    "10.1.2.200, root@gpu1:2222, [::1]:22, an alias of the ssh config, ssh://…, local://, docker://NAME, "
    "podman://NAME, ansible://GROUP, or rehearsal"
)

_WORD = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+-]*")
_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+@-]*")
_PATTERN = re.compile(r"[A-Za-z0-9_.*][A-Za-z0-9_.:&*-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One machine to be tested.

    Attributes:
        scheme: ssh, local, docker, podman, ansible or rehearsal.
        name: SPEC without scheme, user and password; unique in a run, part of every node id.
        host: Address, alias, container or inventory name, without brackets. Empty for local and rehearsal.
        user: As SPEC says; None leaves it to the ssh config, and that to root.
        port: TCP port of sshd; None leaves it to the ssh config, and that to 22.
    """

    scheme: str
    name: str
    host: str = ""
    user: str | None = None
    port: int | None = None


def parse_specs(specs: Iterable[str]) -> tuple[Target, ...]:
    """Reads all `--host` values, each of which may hold several, separated by commas.

    Naming one machine twice in the same way is once. `ansible://` stays one target here: the connection
    knows how to ask the inventory.

    Raises:
        UsageError: A SPEC is not understood, could act by itself, or two name one machine in different ways.
    """
    targets: dict[str, Target] = {}
    for spec in (part.strip(" ") for value in specs for part in value.split(",")):
        target = parse_spec(spec)
        earlier = targets.setdefault(target.name, target)
        if earlier != target:
            raise UsageError(
                f"--host names {target.name} twice, in different ways (user or scheme): name it once, "
                "as node ids and findings could not tell them apart"
            )
    if "rehearsal" in targets and len(targets) > 1:
        raise UsageError("--host=rehearsal stands alone: run it apart from real hosts")
    return tuple(targets.values())


def parse_spec(spec: str) -> Target:
    """Reads one SPEC.

    Raises:
        UsageError: With what was found and which forms there are. A password is not repeated.
    """
    if not spec:
        raise UsageError(f"--host has an empty name; it takes {FORMS}")
    if spec == "rehearsal":
        return Target(scheme="rehearsal", name="rehearsal")
    scheme, separator, rest = spec.partition("://")
    if not separator:
        scheme, rest = "ssh", spec
    user, at, place = rest.rpartition("@")
    if ":" in user:
        raise UsageError(
            f"--host=…@{_shown(place)} carries a password: command lines are visible to all users. Use a key "
            "(--ssh-identity-file, or IdentityFile in the ssh config)"
        )
    if spec.startswith("-") or rest.startswith("-") or place.startswith("-"):
        raise UsageError(
            f"--host={_shown(spec)} begins with a dash and would be read as an option; name a host: {FORMS}"
        )
    if any(character.isspace() or not character.isprintable() for character in spec):
        raise UsageError(f"--host={_shown(spec)} holds blanks or control characters; it takes {FORMS}")
    if scheme not in SCHEMES:
        raise UsageError(f"--host={_shown(spec)} has the unknown scheme {scheme!r}; it takes {FORMS}")
    if at and not _USER.fullmatch(user):
        raise UsageError(
            f"--host={_shown(spec)} has no usable user before the @: letters, digits and . _ + - @ only"
        )
    return _read_place(spec, scheme, user or None, place)


def _read_place(spec: str, scheme: str, user: str | None, place: str) -> Target:
    if scheme == "local":
        if place or user:
            raise UsageError(f"--host={_shown(spec)}: local:// is this machine and takes no name")
        return Target(scheme="local", name="local")
    if scheme == "ansible":
        if user or not _PATTERN.fullmatch(place):
            raise UsageError(
                f"--host={_shown(spec)}: ansible:// takes a group or host of the inventory, or all"
            )
        return Target(scheme="ansible", name=place, host=place)
    if scheme in ("docker", "podman"):
        if not _WORD.fullmatch(place):
            raise UsageError(
                f"--host={_shown(spec)}: {scheme}:// takes the name or id of a running container"
            )
        return Target(scheme=scheme, name=place, host=place, user=user)
    host, port = _split_port(spec, place)
    return Target(scheme="ssh", name=place, host=host, user=user, port=port)


def _split_port(spec: str, place: str) -> tuple[str, int | None]:
    if place.startswith("["):
        host, bracket, rest = place[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise UsageError(f"--host={_shown(spec)}: an IPv6 address with a port is written [::1]:22")
        _check_ipv6(spec, host)
        return host, _port(spec, rest[1:]) if rest else None
    if place.count(":") > 1:
        _check_ipv6(spec, place)
        return place, None
    host, colon, port = place.partition(":")
    if not _WORD.fullmatch(host):
        raise UsageError(
            f"--host={_shown(spec)} is no address, host name or alias: letters, digits and . _ + - only. "
            "Anything else can be given an alias in the ssh config"
        )
    return host, _port(spec, port) if colon else None


def _check_ipv6(spec: str, host: str) -> None:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        raise UsageError(f"--host={_shown(spec)}: {_shown(host)} is no IPv6 address") from None
    if address.scope_id is not None:
        raise UsageError(
            f"--host={_shown(spec)}: an address with a zone (%{address.scope_id}) holds a `%`, which ssh configs expand; "
            "give it an alias in the ssh config"
        )


def _port(spec: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65536):
        raise UsageError(
            f"--host={_shown(spec)}: the port must be a number from 1 to 65535, found {_shown(text)!r}"
        )
    return int(text)


def _shown(text: str) -> str:
    """Foreign text as it may stand in a message: no control characters, not endless."""
    printable = "".join(character if character.isprintable() else "?" for character in text)
    return printable if len(printable) <= 80 else printable[:77] + "…"
