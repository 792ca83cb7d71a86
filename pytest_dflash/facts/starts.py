"""The invocation before this one, and how often the unit was started lately.

Law: what pid 1 and the previous process left in the journal; no judgement. Times are compared with the host's
own clock, never as formatted dates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.exits import exit_meaning
from pytest_dflash.facts.journal import ASK, Entry, Line, read_lines, unheard
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Value

STARTED = "39f53479d3a045ac8e11786248231fbf"
FAILED_TO_START = "be02cf6855d2428ba40df7e9d022f03d"
STOPPING = "de5b426a63be47a7b6ac3eaac82e2f6f"
"""systemd's message ids (sd-messages.h): one for each kind of line of pid 1."""

LAST_LINES = 120  # a vLLM whose engine core died ends with some forty lines about leaks of its libraries


BY_ITSELF = (("killed", 9, "signal"), ("killed", 9, "success"), ("killed", 9, None))
"""Exit code, status and result of an engine that was asked to stop and then killed its own process tree, as SGLang's
does. The manager's own SIGKILL has the result "timeout", the kernel's "oom-kill"."""


@dataclass(frozen=True, slots=True)
class Previous:
    """The unit's invocation before the present one.

    Attributes:
        exit_code: "exited", "killed" or "dumped", by pid 1; None when the journal does not say.
        exit_status: Exit status, or number of the signal.
        result: pid 1's word: "success", "exit-code", "signal", "oom-kill", "timeout" …; None when not said.
        stop_requested: Somebody asked for the stop. A healthy engine may then still end by a signal.
        ended_realtime_us: The time of its last line.
        last_lines: What its processes said at the end, oldest first.
        manager_lines: What pid 1 said about it, oldest first.
        cmdline: What ran, as the journal noted it.
    """

    invocation_id: str
    exit_code: str | None
    exit_status: int | None
    result: str | None
    stop_requested: bool
    ended_realtime_us: int | None
    last_lines: tuple[Entry, ...]
    manager_lines: tuple[Entry, ...] = ()
    cmdline: str = ""

    @property
    def crashed(self) -> bool:
        """It ended badly and nobody had asked it to stop."""
        return not self.stop_requested and self.result not in {None, "success"}

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        asked = ", after a stop was asked for" if self.stop_requested else ""
        if self.exit_code is None:
            how = f"ended with result {self.result}" if self.result else "how it ended is not in the journal"
            return how + asked
        if self.stop_requested and (self.exit_code, self.exit_status, self.result) in BY_ITSELF:
            return "ended by SIGKILL, as engines do to their own processes" + asked
        return exit_meaning(self.exit_code, self.exit_status) + asked


@dataclass(frozen=True, slots=True)
class Starts:
    """The unit's starts in the last 24 hours.

    Attributes:
        times_us: Wall-clock time of each, oldest first.
        now_us: The host's clock when it was asked.
        whole: The journal reaches 24 hours back; when it does not, there may have been more.
    """

    times_us: tuple[int, ...]
    now_us: int
    whole: bool

    @property
    def count(self) -> int:
        """How many."""
        return len(self.times_us)


_FIELDS = (
    "MESSAGE,MESSAGE_ID,PRIORITY,_PID,_STREAM_ID,_LINE_BREAK,_CMDLINE,INVOCATION_ID,USER_INVOCATION_ID,_SYSTEMD_UNIT,"
    "EXIT_CODE,EXIT_STATUS,UNIT_RESULT,COMMAND,JOB_TYPE,JOB_RESULT"
)

_PREVIOUS_SCRIPT = rf"""{ASK}
previous=$(ask --output-fields="${{OF}}INVOCATION_ID" -r -n 2000 ${{MANAGER:-_PID=1}} "${{OF}}UNIT=$UNIT" |
    sed -n 's/.*INVOCATION_ID":"\([0-9a-f]\{{32\}}\)".*/\1/p' | grep -v "^$INVOCATION\$" | head -n 1)
if [ -z "$previous" ]; then
    echo none
    ask --output-fields=PRIORITY -n 1 _PID=1
else
    echo "invocation $previous"
    echo manager
    ask -a --output-fields={_FIELDS} -n 60 ${{MANAGER:-_PID=1}} "${{OF}}INVOCATION_ID=$previous"
    echo service
    ask -a --output-fields={_FIELDS} -n {LAST_LINES} "_SYSTEMD_INVOCATION_ID=$previous"
fi
echo end
"""


def _sections(text: str) -> dict[str, list[str]]:
    """JSON lines by the word that stands alone before them; the rest of a word's line is its first item."""
    found: dict[str, list[str]] = {}
    here: list[str] = []
    for raw in text.split("\n"):
        if raw.startswith("{"):
            here.append(raw)
        elif raw.strip():
            word, _, rest = raw.partition(" ")
            here = found.setdefault(word, [])
            if rest:
                here.append(rest)
    return found


def _read_previous(reply: Reply) -> Reading[Previous]:
    sections = _sections(reply.text)
    if "none" in sections:
        if sections["none"]:
            return Absent("journal: it keeps no earlier invocation of the unit")
        return unheard(reply)
    named = sections.get("invocation", [])
    if not "".join(named).strip() or "end" not in sections:
        return reply.silence("journalctl")
    said, _ = read_lines(sections.get("manager", []))
    lines, _ = read_lines(sections.get("service", []))
    exits = [line for line in said if line.text("EXIT_CODE") and line.text("COMMAND") in {"", "ExecStart"}]
    results = [line.text("UNIT_RESULT") for line in said if line.text("UNIT_RESULT")]
    times = [line.entry.realtime_us for line in (*said, *lines)]
    return Value(
        Previous(
            invocation_id=named[0].strip(),
            exit_code=exits[-1].text("EXIT_CODE") if exits else None,
            exit_status=whole(exits[-1].text("EXIT_STATUS")) if exits else None,
            result=results[-1] if results else ("success" if _deactivated(said) else None),
            stop_requested=any(line.text("MESSAGE_ID") == STOPPING for line in said),
            ended_realtime_us=max(times, default=None),
            last_lines=tuple(line.entry for line in lines),
            manager_lines=tuple(line.entry for line in said),
            cmdline=next((line.entry.cmdline for line in reversed(lines) if line.entry.cmdline), ""),
        ),
        f"journal, invocation {named[0].strip()[:8]}…",
    )


def _deactivated(said: Iterable[Line]) -> bool:
    """Whether pid 1 said "Deactivated successfully" (SD_MESSAGE_UNIT_SUCCESS)."""
    return any(line.text("MESSAGE_ID") == "7ad2d189f7e94e70a38c781354912448" for line in said)


PREVIOUS: Probe[Previous] = Probe("previous-invocation", _PREVIOUS_SCRIPT, _read_previous)
"""The crash that matters is often in the invocation before the present one."""


DAY_S = 86_400

_STARTS_SCRIPT = rf"""{ASK}
now=$(date +%s)
echo "now $now"
echo oldest
ask --output-fields=PRIORITY _PID=1 | head -n 1
echo starts
ask --output-fields="MESSAGE_ID,${{OF}}INVOCATION_ID" --since="@$((now - {DAY_S}))" -n 2000 \
    ${{MANAGER:-_PID=1}} "${{OF}}UNIT=$UNIT" MESSAGE_ID={STARTED} MESSAGE_ID={FAILED_TO_START}
echo end
"""


def _read_starts(reply: Reply) -> Reading[Starts]:
    sections = _sections(reply.text)
    now_s = whole("".join(sections.get("now", [])))
    if now_s is None or "end" not in sections:
        return reply.silence("journalctl")
    oldest, _ = read_lines(sections.get("oldest", []))
    if not oldest:
        return unheard(reply)
    now_us, since_us = now_s * 1_000_000, (now_s - DAY_S) * 1_000_000
    lines, _ = read_lines(sections.get("starts", []))
    first: dict[str, int] = {}
    for line in lines:
        if line.entry.realtime_us >= since_us:
            first.setdefault(
                line.text("INVOCATION_ID") or line.text("USER_INVOCATION_ID") or str(line.entry.realtime_us),
                line.entry.realtime_us,
            )
    return Value(
        Starts(tuple(sorted(first.values())), now_us, oldest[0].entry.realtime_us <= since_us), "journal"
    )


STARTS: Probe[Starts] = Probe("starts-24h", _STARTS_SCRIPT, _read_starts)
"""One invocation counts once, whether it came up or failed while starting."""
