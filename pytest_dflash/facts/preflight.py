"""Why a host cannot be asked anything: one sentence, and what to do.

Law: complaints of ssh, sudo, login shells and container engines in, an error out. Nothing is run here: the
first command is the facts script itself, and its failure is what gets classified.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_dflash.errors import HostUnreachable
from pytest_dflash.facts.target import Target


@dataclass(frozen=True, slots=True)
class Complaint:
    """One known way to fail. `{name}`, `{where}` and `{user}` may stand in the texts."""

    pattern: str
    sentence: str
    remedy: str


COMPLAINTS = (
    Complaint(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Offending .* key in",
        "the host key of {name} is not the one that is known",
        "Was the host installed anew? Then `ssh-keygen -R {where}` and connect once by hand; else somebody stands in between",
    ),
    Complaint(
        r"Host key verification failed|No .* host key is known for|key fingerprint is not known",
        "the host key of {name} is not known here, and nobody can be asked",
        "Run `{ssh}` once by hand and compare the fingerprint, or put the key into known_hosts",
    ),
    Complaint(
        r"Bad owner or permissions on|Bad configuration option|terminating, \d+ bad configuration",
        "ssh refuses its config on this side",
        "Mend the named file, or give another one with --ssh-config",
    ),
    Complaint(
        r"Could not resolve hostname|Name or service not known|nodename nor servname",
        "the name {name} is not known here",
        "Check the spelling, the DNS, and the aliases of the ssh config (`ssh -G {where}` shows what ssh makes of it)",
    ),
    Complaint(
        r"Session open refused",
        "sshd on {name} allows no session over a shared connection",
        "Set MaxSessions in its sshd_config to 2 or more",
    ),
    Complaint(
        r"Too many authentication failures",
        "{name} refused: too many keys were offered",
        "Name the one that fits with --ssh-identity-file, or with IdentityFile and IdentitiesOnly in the ssh config",
    ),
    Complaint(
        r"Permission denied \(",
        "{name} refused the key",
        "Put the public key into authorized_keys of the user there, load it into the agent (`ssh-add -l`), or name "
        "another with --ssh-identity-file; user and key as ssh sees them: `ssh -G {where}`",
    ),
    Complaint(
        r"Connection refused", "{name} refused the connection", "Is sshd running there, and on this port?"
    ),
    Complaint(
        r"No route to host|Network is unreachable|Host is down",
        "there is no route to {name}",
        "Check VPN, routing and firewall; a bastion belongs into the ssh config (ProxyJump)",
    ),
    Complaint(
        r"Operation timed out|Connection timed out|timed out during banner|Connection to .* timed out",
        "{name} did not answer in time",
        "Is the host up? Check VPN, routing and firewall; a bastion belongs into the ssh config (ProxyJump)",
    ),
    Complaint(
        r"kex_exchange_identification|banner exchange|Connection (?:reset|closed) by",
        "{name} ended the connection before anybody could log in",
        "Is this an sshd, and does it accept from here (MaxStartups, fail2ban, hosts.deny)? Its log tells",
    ),
    Complaint(
        r"not currently available|currently not available|nologin|This account is|no such shell|/bin/false",
        "the user on {name} may log in but has no shell",
        "Name a user with a login shell: --host=USER@{where}",
    ),
    Complaint(
        r"account (?:has )?expired|password has expired|change your password",
        "the account on {name} has expired",
        "Renew it there, or name another user: --host=USER@{where}",
    ),
    Complaint(
        r"sudo: a (?:password|terminal) is required|no askpass program",
        "sudo on {name} asks for a password, and nobody can type one",
        "Allow it without: a file in /etc/sudoers.d with `{user} ALL=(ALL) NOPASSWD: /bin/sh`, or log in as root",
    ),
    Complaint(
        r"is not in the sudoers file|may not run sudo|not allowed to (?:execute|run)",
        "the user on {name} may not use sudo",
        "Allow it: a file in /etc/sudoers.d with `{user} ALL=(ALL) NOPASSWD: /bin/sh`, or log in as root",
    ),
    Complaint(
        r"sudo: (?:command )?not found|Unknown command:? '?sudo|sudo: not found",
        "{name} has no sudo",
        "Leave --sudo out and log in as root, or install it",
    ),
    Complaint(
        r"unknown user|sudo: unknown",
        "the user of --sudo-user does not exist on {name}",
        "Name one that does, or leave --sudo-user out",
    ),
    Complaint(
        r"No such container|no container with name",
        "there is no container {name}",
        "`{scheme} ps` lists those that run",
    ),
    Complaint(
        r"is not running|container state improper",
        "the container {name} is not running",
        "Start it: `{scheme} start {name}`",
    ),
    Complaint(
        r"Cannot connect to the Docker daemon|permission denied while trying to connect",
        "the container engine does not answer this user",
        "Is it running, and may this user use it? `{scheme} ps` tells",
    ),
    Complaint(
        r"(?:/bin/)?sh[\"']?: (?:executable file )?(?:not found|no such file)|exec: .*/bin/sh",
        "{name} has no /bin/sh",
        "Facts are asked in POSIX sh; a host without one cannot be tested",
    ),
    Complaint(
        r"Permission denied|Operation not permitted",
        "{name} gives no permission to run a shell",
        "Name another user: --host=USER@{where}, or ask for --sudo",
    ),
)
"""In the order of trying: the first that fits is taken."""


def unreachable(target: Target, said: str) -> HostUnreachable:
    """The error for a host that ran nothing.

    Args:
        target: Who was asked.
        said: Everything that ssh and the login shell said, errors first.
    """
    lines = [
        line.strip()
        for line in said.splitlines()
        if line.strip() and not line.startswith("Warning: Permanently")
    ]
    words = {
        "name": target.name,
        "where": target.host or target.name,
        "user": target.user or "USER",
        "scheme": target.scheme,
        "ssh": " ".join(["ssh", *(["-p", str(target.port)] if target.port else []), _login(target)]),
    }
    for complaint in COMPLAINTS:
        found = next((line for line in lines if re.search(complaint.pattern, line, re.IGNORECASE)), None)
        if found:
            sentence = complaint.sentence.format_map(words)
            return HostUnreachable(
                f"{sentence} (it said: {found[:300]})", complaint.remedy.format_map(words) + "."
            )
    heard = f"it said: {' / '.join(lines[-3:])[:400]}" if lines else "it said nothing"
    return HostUnreachable(
        f"{target.name} did not run a shell for us ({heard})",
        f"See what `{words['ssh']} true` says; a forced command or a restricted shell cannot be tested through."
        if target.scheme == "ssh"
        else "See what running `/bin/sh -c true` there by hand says.",
    )


def lost(target: Target, said: str) -> HostUnreachable:
    """The error for a connection that ended while something ran."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    heard = f" (ssh said: {lines[-1][:300]})" if lines else ""
    return HostUnreachable(
        f"the connection to {target.name} was lost{heard}",
        "Was the host rebooted, the network cut, or sshd restarted? Run again; what was read before is reported.",
    )


def _login(target: Target) -> str:
    return f"{target.user}@{target.host}" if target.user else target.host
