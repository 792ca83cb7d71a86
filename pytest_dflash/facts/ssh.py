"""How ssh is called: argument lists, and the config that puts root behind the user's own choice.

Law: values in, argument lists out; nothing is run and no shell is involved on this side. One master connection
holds the host; all commands and tunnels go through its socket and never open a connection of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_dflash.facts.target import Target

CONNECT_TIMEOUT_S = 10
PERSIST_S = 300
"""If we are killed, an idle connection outlives us by so much."""

_PLAIN = re.compile(r"[A-Za-z0-9_.:+-]+")

MASTER_OPTIONS: Mapping[str, str] = {
    "BatchMode": "yes",  # no question can be answered here; an unknown host key is refused
    "ConnectTimeout": str(CONNECT_TIMEOUT_S),
    "ConnectionAttempts": "1",
    "ServerAliveInterval": "10",  # a host that vanished is noticed after half a minute
    "ServerAliveCountMax": "3",
    "ClearAllForwardings": "yes",  # forwardings of the user's config are for the user's sessions
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "LogLevel": "INFO",  # with QUIET there would be no reason to report
}
"""What must hold whatever the ssh config says. Host key checking is not among them: it stays the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshRoute:
    """How one host is reached.

    Attributes:
        target: The host.
        socket: Path of the control socket, below 100 bytes.
        config: Path of the config made by `config_text`.
        log: Where the master writes its complaints.
        identity_file: As `--ssh-identity-file` says.
        extra: Further arguments, from an inventory.
    """

    target: Target
    socket: str
    config: str
    log: str
    identity_file: str | None = None
    extra: Sequence[str] = ()

    def open_master(self) -> list[str]:
        """Connects, authenticates, and stays in the background."""
        return self._connect("-f", "-N", "-M", "-S", self.socket, "-o", f"ControlPersist={PERSIST_S}")

    def explain(self) -> list[str]:
        """Tries the same without a socket: with one, ssh hides what a bastion complains about."""
        return [*self._connect("-S", "none"), "true"]

    def _connect(self, *how: str) -> list[str]:
        return [
            *("ssh", "-F", self.config, "-E", self.log, "-T", *how),
            *(word for key, value in MASTER_OPTIONS.items() for word in ("-o", f"{key}={value}")),
            *(("-i", self.identity_file) if self.identity_file else ()),
            *(("-l", self.target.user) if self.target.user else ()),
            *(("-p", str(self.target.port)) if self.target.port else ()),
            *self.extra,
            *("--", self.target.host),
        ]

    def resolve(self) -> list[str]:
        """Prints what ssh would do, without doing it: HostName, ProxyJump and the rest of the config."""
        login = ("-l", self.target.user) if self.target.user else ()
        return ["ssh", "-G", "-F", self.config, *login, "--", self.target.host]

    def command(self, remote: str) -> list[str]:
        """Runs `remote` in the login shell over there."""
        return [*self._through_master(), "-T", "--", self.target.host, remote]

    def control(self, order: str, *arguments: str) -> list[str]:
        """Tells the master something: check, exit, forward."""
        return [*self._through_master(), "-O", order, *arguments, "--", self.target.host]

    def _through_master(self) -> list[str]:
        # No config is read a second time (its `Match exec` ran once), and where the master is gone, ssh must
        # fail rather than connect by itself: hence the proxy that cannot work.
        no_detour = ("-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o", "BatchMode=yes")
        return ["ssh", "-F", "none", "-S", self.socket, *no_detour]


def config_text(includes: Sequence[str], host: str) -> str:
    """An ssh config that reads `includes` and then falls back to root, where ssh would take the local user.

    The first value wins in ssh, so a user that SPEC or the config names is kept. The fallback is for `host` only:
    bastions keep their own users. What stands under `*` reaches bastions too, which no command line does.
    """
    lines = [f'Include "{path}"' for path in includes]
    fallback = [f"Host {host}", "    User root"] if _PLAIN.fullmatch(host) else []
    everywhere = [
        f"    {key} {MASTER_OPTIONS[key]}" for key in ("BatchMode", "ConnectTimeout", "ConnectionAttempts")
    ]
    return "\n".join([*lines, *fallback, "Host *", *everywhere, ""])


def remote_shell(deadline_s: float, elevated: Sequence[str]) -> str:
    """The one command that a login shell of any kind is asked to run: a POSIX shell that reads the script.

    The host's own `timeout` ends it where nobody here can. No newline, no `!` and no backslash stand between the
    single quotes: csh and fish read it like sh.
    """
    limit = max(1, round(deadline_s))
    inner = f"command -v timeout >/dev/null 2>&1 && exec timeout -k 5 {limit} /bin/sh -s; exec /bin/sh -s"
    return " ".join(["exec", *elevated, "/bin/sh", "-c", f"'{inner}'"])


def sudo_words(sudo_user: str | None, *, wanted: bool) -> list[str]:
    """`sudo -n` as asked for. The user's name is checked by whoever reads the option."""
    if not wanted:
        return []
    return ["sudo", "-n", *(("-u", sudo_user) if sudo_user else ()), "--"]
