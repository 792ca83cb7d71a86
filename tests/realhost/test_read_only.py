"""A run that may only read leaves a real host as it was, and asks the model nothing."""

from __future__ import annotations

import re
from pathlib import Path

from tests.realhost.services import Service
from tests.realhost.test_acceptance import outcomes, run

OF_ANY_LOGIN = re.compile(
    r"^(/run/log/journal|/var/log/(journal|wtmp|lastlog|btmp)|/run/utmp|/run/user|/run/sshd|/var/lib/systemd"
    r"|/run/systemd/(sessions|users|inhibit|journal|units|transient/session)|/run/(motd|faillock)|/tmp/systemd-private"
    r"|/var/tmp/systemd-private|/var/lib/private|/root/\.cache)"
)
"""What any ssh login and the journal's own writing change; so are the folders right above."""
LOOKS = {
    "files": r"find / /run /tmp /var /dev/shm -xdev ! -type d -printf '%p %y %m %u %s %T@ %l\n' 2>/dev/null | sort -u",
    "folders": r"find /etc /opt /srv /usr /run/systemd/system /run/systemd/transient -xdev -type d"
    r" -printf '%p %m %u %T@\n' | sort",
    "units": "systemctl list-units --all --plain --no-legend | sed 's/  */ /g'"
    " | grep -vE '^(session-|user@|user-|run-user)' | sort",
    "loaded": "systemctl show -p NeedDaemonReload,DropInPaths,InvocationID,MainPID,NRestarts,StateChangeTimestampMonotonic"
    " sglang-k26-ddtree.service",
    "sockets": "ss -ltnpH | grep 'users:' | awk '{print $4, $6}' | sort",  # the network is shared with others
    "processes": "ps -eo pid,lstart,args --no-headers | grep -vE 'sshd|ps -eo|grep -vE|sh -c|systemd --user|sd-pam|sort' | sort",
}
SAID = """
import urllib.request
text = urllib.request.urlopen("http://127.0.0.1:@PORT@/metrics", timeout=10).read().decode()
print("\\n".join(l for l in text.splitlines() if not l.startswith("#") and "_total" in l))
"""


def look(service: Service) -> dict[str, list[str]]:
    """Everything of the host that a run might have changed, line by line."""
    found = {name: service.machine.sh(script, check=False).splitlines() for name, script in LOOKS.items()}
    found["files"] = [line for line in found["files"] if not OF_ANY_LOGIN.match(line)]
    counters = service.machine.sh(f"python3.11 -c '{SAID.replace('@PORT@', str(service.port))}'")
    return found | {"requests to the model": sorted(counters.splitlines())}


def test_reading_changes_nothing_on_a_real_host_and_asks_the_model_nothing(
    mini_host: Service, tmp_path: Path
) -> None:
    run(
        mini_host, tmp_path / "first", "--dflash-allow=read"
    )  # what a first login makes is there from then on
    before = look(mini_host)
    document = run(mini_host, tmp_path / "second", "--dflash-allow=read")
    after = look(mini_host)
    moved = {
        name: sorted(set(before[name]) ^ set(after[name])) for name in before if before[name] != after[name]
    }
    assert moved == {}
    assert len(before["files"]) > 1000
    assert len(before["requests to the model"]) >= 3
    assert outcomes(document)["window.reaches_draft_runner"] == "pass"
    assert document["hosts"][0]["changed"] is False
