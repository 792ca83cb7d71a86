"""Many questions, one script, one reply.

Law: composes sh text and reads what it printed; runs nothing. The frame survives any bytes in an answer, noise
of a login shell around it, and an end in the middle: what is complete counts, the rest is Silent.

The script writes nothing to the host's disk. Every probe runs in its own `sh -c` with a deadline of its own and
an empty standard input; both of its streams come back encoded, so that no answer can look like a frame.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_dflash.facts.identity import Identity, movement, parse_identity
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value

T = TypeVar("T")

PROBE_DEADLINE_S = 30
LARGEST = 32 * 2**20
"""Bytes of one answer at most: a tool that prints without end fills neither the host's memory nor ours."""
TOO_LARGE = f"its answer is larger than {LARGEST >> 20} MiB, and was not read"
MARK = "::dflash::"

SETUP = r"""
unset LANGUAGE CDPATH SYSTEMD_COLORS SYSTEMD_LOG_LEVEL POSIXLY_CORRECT GREP_OPTIONS IFS
LC_ALL=C.UTF-8 SYSTEMD_PAGER=cat PAGER=cat TZ=UTC0
PATH="${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin:/usr/local/cuda/bin"
SYSTEMCTL=systemctl BUSCTL=busctl MANAGER=_PID=1 OF=
if [ -n "$OWNER" ]; then
  uid=$(id -u -- "$OWNER" 2>/dev/null) || uid=
  XDG_RUNTIME_DIR=/run/user/$uid DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$uid/bus as=
  [ "$(id -u)" = "$uid" ] || as="setpriv --reuid=$uid --regid=$(id -g -- "$OWNER" 2>/dev/null) --init-groups "
  SYSTEMCTL="${as}systemctl --user" BUSCTL="${as}busctl --user" MANAGER="_COMM=systemd${uid:+ _UID=$uid}" OF=USER_
  export XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
fi
export LC_ALL SYSTEMD_PAGER PAGER TZ PATH R UNIT OWNER MAIN_PID CGROUP INVOCATION PIDS SYSTEMCTL BUSCTL MANAGER OF
if base64 </dev/null >/dev/null 2>&1; then encoding=base64; encode() { base64; }
else encoding=hex; encode() { od -An -v -tx1; }; fi
limit=; timeout -k 2 9 true 2>/dev/null && limit='timeout -k 2 @DEADLINE@'

who() {
  boot=; read -r boot <"$R/proc/sys/kernel/random/boot_id"; echo "BootID=$boot"
  show=$($limit $SYSTEMCTL show -p InvocationID -p MainPID -p NRestarts -p ControlGroup -- "$UNIT") || return
  printf '%s\n' "$show"
  pid=$(printf '%s\n' "$show" | sed -n 's/^MainPID=//p')
  case $pid in ''|0|*[!0-9]*) return 0;; esac
  stat=$(cat "$R/proc/$pid/stat") || return 0
  set -f; set -- ${stat##*)}; [ $# -lt 20 ] || echo "StartTicks=${20}"
}
value() { printf '%s\n' "$identity" | sed -n "s/^$1=//p"; }
members() {
  for top in "$R/sys/fs/cgroup" "$R/sys/fs/cgroup/systemd" "$R/sys/fs/cgroup/unified"; do
    [ -d "$top$CGROUP" ] || continue
    found=$(find "$top$CGROUP" -name cgroup.procs -exec cat {} + | sort -nu)
    [ -n "$found" ] && { printf '%s\n' "$found"; return; }
  done
  grep -lsF -e ":$CGROUP" "$R"/proc/[0-9]*/cgroup | while IFS= read -r file; do
    while IFS= read -r line; do
      case $line in *:"$CGROUP"|*:"$CGROUP"/*) file=${file%/cgroup}; echo "${file##*/}"; break;; esac
    done <"$file"
  done
}
containers() {
  set --
  for p in $PIDS; do set -- "$@" "$R/proc/$p/cmdline"; done
  [ $# -gt 0 ] || return
  grep -lsaE '(^|/)(docker|podman|nerdctl)' "$@" | head -n 9 | while IFS= read -r file; do
    client='' name='' verb='' last=''
    while IFS= read -r word; do
      case $word in -*) ;; *) last=$word;; esac
      case $client:$name in
      :) case ${word##*/} in docker|podman|nerdctl) client=${word##*/};; sh|bash|dash|python*) ;; *) break;; esac;;
      *:next) name=$word; break;;
      *) case $word in --name) name=next;; --name=*) name=${word#--name=}; break;; start) verb=start;; esac;;
      esac
    done <<ARGV
$(head -c 65536 "$file" | tr '\n\0' ' \n')
ARGV
    [ "$verb" != start ] || name=$last
    case $client:$name in :*|*:) continue;; esac
    inside=$($limit "$client" inspect --format '{{.State.Pid}}' -- "$name") || continue
    case $inside in ''|0|*[!0-9]*) continue;; esac
    CGROUP=$(sed -n 's/^0:://p;s/^[0-9]*:name=systemd://p' "$R/proc/$inside/cgroup" | grep -vx / | head -n 1)
    case $CGROUP in ''|/) ;; *) members;; esac
  done
}
children() {
  echo "$1"
  for child in $(cat "$R/proc/$1/task/$1/children"); do children "$child"; done
}
identify() {
  identity=$(who 2>&1); code=$?
  echo; echo "@MARK@ begin $1"
  printf '%s\n' "$identity" | encode
  echo; echo "@MARK@ end $1 $code -"
}
ask() {
  echo; echo "@MARK@ begin $1"
  said=$( { { $limit sh -c "$2" </dev/null 2>&3 3>&- 5>&-; printf '\nrc=%s' $? >&3; } |
    head -c @LARGEST@ | encode >&5 3>&- 5>&-; } 3>&1 | tail -c 2100 )
  code=${said##*rc=}; code=${code%%[!0-9]*}; said=${said%?rc=*}
  [ -z "$said" ] || said=$(printf '%s' "$said" | tail -c 2000 | encode | tr -d ' \n')
  echo; echo "@MARK@ end $1 ${code:-1} ${said:--}"
}
main() {
echo; echo "@MARK@ hello $encoding"
identify first
MAIN_PID=$(value MainPID) CGROUP=$(value ControlGroup) INVOCATION=$(value InvocationID) PIDS=
case $CGROUP in ''|/) ;; *) PIDS=$(members 2>/dev/null | tr '\n' ' ');; esac
PIDS=$({ printf '%s\n' $PIDS; containers 2>/dev/null; } | grep . | sort -nu | tr '\n' ' ')
case $PIDS$MAIN_PID in ''|0) ;; "$MAIN_PID") PIDS=$(children "$MAIN_PID" 2>/dev/null | tr '\n' ' ');; esac
@QUESTIONS@
identify last
echo; echo "@MARK@ bye"
}
exec 5>&1
main </dev/null
"""

OF_THE_UNIT = re.compile(r"\$\{?(?:PIDS|MAIN_PID|CGROUP|INVOCATION)\b")
"""What a question uses that is about the unit as systemd holds it."""
_END = re.compile(rb"end (\S+) (\d+) (\S+)")


@dataclass(frozen=True, slots=True)
class Transcript:
    """What the host said to a set of probes, all of it about one process, or `torn`.

    Attributes:
        readings: By the probe's name.
        first: Who was asked, before the first probe. last: the same after the last one.
        cut: Why answers are missing; empty when the transcript is whole.
        torn: What moved while it was being read; empty when nothing did.
    """

    readings: Mapping[str, Reading[Any]]
    first: Reading[Identity]
    last: Reading[Identity]
    cut: str = ""
    torn: str = ""

    def reading(self, probe: Probe[T]) -> Reading[T]:
        """The answer to `probe`; Silent with the reason where it was not asked, not answered, or asked about nobody."""
        why = self.cut or f"`{probe.name}` was not among the questions"
        found = self.readings.get(probe.name, Silent(why, probe.name))
        if (
            not isinstance(found, Value)
            and isinstance(self.first, Silent)
            and OF_THE_UNIT.search(probe.script)
        ):
            return self.first  # nothing of an unknown unit is no absence
        return found

    @property
    def identity(self) -> Reading[Identity]:
        """Who was read; Silent when it moved meanwhile."""
        return Silent(f"the process moved while it was read: {self.torn}") if self.torn else self.first


def compose(
    probes: Iterable[Probe[Any]],
    unit: str,
    root: str = "",
    deadline_s: int = PROBE_DEADLINE_S,
    owner: str = "",
) -> str:
    """The script that asks everything once.

    Args:
        probes: In the order of asking; put those that may hang last.
        unit: The unit's full name.
        root: Prefix of /proc, /sys, /etc, /dev; empty on a real host.
        deadline_s: Seconds for each probe, kept by the host's own `timeout` where it has one.
        owner: The user whose own manager has the unit; "" for the system's.
    """
    questions = "\n".join(f"ask {shlex.quote(probe.name)} {shlex.quote(probe.script)}" for probe in probes)
    body = (
        SETUP.replace("@QUESTIONS@", questions)
        .replace("@MARK@", MARK)
        .replace("@DEADLINE@", str(deadline_s))
        .replace("@LARGEST@", str(LARGEST))
    )
    return f"R={shlex.quote(root)} UNIT={shlex.quote(unit)} OWNER={shlex.quote(owner)}\n{body}"


def read(
    stdout: bytes,
    probes: Iterable[Probe[Any]],
    *,
    cut: str = "",
    guard: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda readings: readings,
) -> Transcript:
    """Reads what the script printed. Total: any bytes in, a transcript out.

    Args:
        stdout: All that came, noise of login shells included.
        probes: Those that were asked.
        cut: Why it may end early, where that is known; else a standard sentence is used.
        guard: Takes all readings and gives them back without secrets.
    """
    replies, whole = _frames(stdout)
    if not whole:
        cut = cut or "the host's answer ended early: the connection or the shell went away"
    readings = {
        probe.name: probe.parse(reply) if len(reply.stdout) < LARGEST else Silent(TOO_LARGE, probe.name)
        for probe in probes
        if (reply := replies.get(probe.name)) is not None
    }
    first, last = (
        parse_identity(replies[name])
        if name in replies
        else Silent(cut or "the host did not say who runs", name)
        for name in ("first", "last")
    )
    moved = movement(first.value, last.value) if isinstance(first, Value) and isinstance(last, Value) else ""
    return Transcript(guard(readings), first, last, "" if whole else cut, moved)


def _frames(stdout: bytes) -> tuple[dict[str, Reply], bool]:
    """Every complete answer by name, and whether the script came to its end."""
    replies: dict[str, Reply] = {}
    decode: Callable[[bytes], bytes] = _decode_base64
    name, body = "", list[bytes]()
    whole = False
    mark = MARK.encode() + b" "
    for line in stdout.split(b"\n"):
        if not line.startswith(mark):
            body.append(line)
            continue
        words = line.removeprefix(mark).strip()
        if words.startswith(b"hello "):
            decode = _decode_hex if words == b"hello hex" else _decode_base64
        elif words.startswith(b"begin "):
            name, body = words[6:].decode("utf-8", "replace"), []
        elif words == b"bye":
            whole = True
        elif (end := _END.fullmatch(words)) and end[1].decode("utf-8", "replace") == name:
            try:
                said = b"" if end[3] == b"-" else decode(end[3])
                replies[name] = Reply(decode(b"".join(body)), said, int(end[2][:9]))
            except ValueError:
                whole = False
    return replies, whole


def _decode_base64(text: bytes) -> bytes:
    return base64.b64decode(b"".join(text.split()), validate=True)


def _decode_hex(text: bytes) -> bytes:
    return bytes.fromhex(text.decode("ascii"))
