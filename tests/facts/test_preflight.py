"""Complaints as ssh, sudo, shells and container engines make them, and what a person reads instead."""

from __future__ import annotations

import pytest

from pytest_dflash.facts.preflight import COMPLAINTS, lost, unreachable
from pytest_dflash.facts.target import parse_spec

SAID = {
    "@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!  @\nHost key verification failed.": "is not the one",
    "No ED25519 host key is known for gpu1 and you have requested strict checking.\nHost key": "is not known",
    "Host key verification failed.": "the host key of gpu1:2222 is not known here",
    "Bad owner or permissions on /home/me/.ssh/config": "ssh refuses its config",
    "/home/me/.ssh/config: line 3: Bad configuration option: foo": "ssh refuses its config",
    "ssh: Could not resolve hostname gpu1: Name or service not known": "the name gpu1:2222 is not known",
    "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures": "too many keys",
    "mux_client_request_session: session request failed: Session open refused by peer": "no session",
    "root@10.1.2.200: Permission denied (publickey).": "refused the key",
    "Permission denied (publickey,gssapi-keyex,gssapi-with-mic,password).": "refused the key",
    "ssh: connect to host 10.1.2.200 port 22: Connection refused": "refused the connection",
    "ssh: connect to host 10.1.2.200 port 22: No route to host": "no route",
    "ssh: connect to host 10.1.2.200 port 22: Network is unreachable": "no route",
    "ssh: connect to host 10.1.2.200 port 22: Connection timed out": "did not answer in time",
    "ssh: connect to host 10.1.2.200 port 22: Operation timed out": "did not answer in time",
    "Connection timed out during banner exchange": "did not answer in time",
    "kex_exchange_identification: read: Connection reset by peer": "before anybody could log in",
    "kex_exchange_identification: Connection closed by remote host": "before anybody could log in",
    "This account is currently not available.": "has no shell",
    "Your account has expired; please contact your system administrator.": "has expired",
    "sudo: a password is required": "asks for a password",
    "sudo: a terminal is required to read the password; either use the -S option": "asks for a password",
    "me is not in the sudoers file.  This incident will be reported.": "may not use sudo",
    "bash: line 1: exec: sudo: not found": "has no sudo",
    "sh: 1: exec: sudo: not found": "has no sudo",
    "fish: Unknown command: sudo": "has no sudo",
    "sudo: unknown user svc": "--sudo-user does not exist",
    "Error: No such container: web": "no container",
    "Error response from daemon: No such container: web": "no container",
    'Error: no container with name or ID "web" found: no such container': "no container",
    "Error response from daemon: container c0ffee is not running": "is not running",
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?": "does not answer this user",
    "permission denied while trying to connect to the Docker daemon socket": "does not answer this user",
    'OCI runtime exec failed: unable to start: exec: "/bin/sh": stat /bin/sh: no such file or directory': "has no /bin/sh",
    "bash: /bin/sh: Permission denied": "gives no permission",
}


@pytest.mark.parametrize("said", SAID, ids=range(len(SAID)))
def test_each_known_complaint_becomes_one_sentence_and_a_remedy(said: str) -> None:
    error = unreachable(
        parse_spec("me@gpu1:2222"), f"Warning: Permanently added 'x' to known hosts.\n{said}\n"
    )
    assert SAID[said] in str(error)
    assert "\n" not in str(error)
    assert error.remedy.endswith(".")
    assert "{" not in error.remedy


def test_every_entry_of_the_table_is_met_by_some_complaint() -> None:
    messages = [str(unreachable(parse_spec("gpu1"), said)) for said in SAID]
    for complaint in COMPLAINTS:
        fragment = complaint.sentence.split("}")[-1].strip()
        assert any(fragment in message for message in messages), complaint.sentence


def test_remedies_can_be_typed_as_they_are() -> None:
    error = unreachable(parse_spec("me@gpu1:2222"), "Host key verification failed.")
    assert error.remedy == (
        "Run `ssh -p 2222 me@gpu1` once by hand and compare the fingerprint, or put the key into known_hosts."
    )


def test_an_unknown_complaint_is_quoted() -> None:
    error = unreachable(parse_spec("gpu1"), "Maintenance until Monday\n")
    assert str(error) == "gpu1 did not run a shell for us (it said: Maintenance until Monday)"
    assert error.remedy == (
        "See what `ssh gpu1 true` says; a forced command or a restricted shell cannot be tested through."
    )


def test_silence_is_named_as_such() -> None:
    assert "it said nothing" in str(unreachable(parse_spec("docker://c"), ""))


def test_a_lost_connection_quotes_ssh() -> None:
    said = "mux_client_read_packet: read header failed: Broken pipe\nTimeout, server gpu1 not responding.\n"
    assert str(lost(parse_spec("gpu1"), said)) == (
        "the connection to gpu1 was lost (ssh said: Timeout, server gpu1 not responding.)"
    )
