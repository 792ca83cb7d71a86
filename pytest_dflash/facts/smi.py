"""The question to nvidia-smi, and its cells.

Law: how it is asked, which of its words are numbers, and what its silence says. No field is known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value

T = TypeVar("T")

NO_DEVICE = "no NVIDIA device on the PCI bus, no nvidia-smi, no driver"
"""What a host without any NVIDIA GPU says: Absent, which is more than not being heard."""

# A process that hangs in the driver (state D) dies of no signal, and `timeout` would wait for it for ever.
# So the question runs in the background and only its output is waited for; its last line is its exit status.
ASK = r"""
ask() {
    seconds=$1; shift
    { ( (timeout -k 2 "$seconds" "$@" 2>&1; printf '\nended=%s\n' "$?") </dev/null & ) } |
        timeout "$((seconds + 3))" cat
}
stuck() {
    grep -shE '^[0-9]+ \(.*\) D ' "$R"/proc/[0-9]*/stat | head -n 5 | while read -r stuck_pid stuck_name _; do
        echo "in state D: $stuck_name, pid $stuck_pid"
    done
}
command -v nvidia-smi >/dev/null || {
    # Vendor 0x10de is NVIDIA. Without nvidia-smi, only a readable bus without it proves that there is no GPU.
    if [ -d "$R/sys/bus/pci/devices" ] && [ ! -e "$R/proc/driver/nvidia" ] &&
        ! grep -qs 0x10de "$R"/sys/bus/pci/devices/*/vendor; then
        echo '@NONE@'
        exit 0
    fi
    echo 'nvidia-smi is not on PATH' >&2
    exit 127
}
""".replace("@NONE@", NO_DEVICE)
"""sh: `ask SECONDS COMMAND` and `stuck`, which names processes in state D. Ends with 127 without nvidia-smi."""

_NOT_THERE = re.compile(r"\[?(N/A|Not Supported|Not Available|Not Applicable)\]?", re.IGNORECASE)


def cell(
    text: str | None, field: str, read: Callable[[str], T | None], query: str = "--query-gpu"
) -> Reading[T]:
    """What one cell says: a value as `read` takes it, Absent where the GPU has no such thing, else Silent."""
    where = f"nvidia-smi {query}={field}"
    if text is None:
        return Silent(f"this driver's nvidia-smi does not know the field {field}", where)
    if _NOT_THERE.fullmatch(text):
        return Absent(where)
    value = read(text)
    return Silent(f"nvidia-smi answered {text!r}", where) if value is None else Value(value, where)


def word(text: str) -> str | None:
    """A name; None for a complaint in brackets."""
    return text if text and "[" not in text and text not in {"Unknown Error", "ERR!"} else None


def real(text: str) -> float | None:
    """A number without unit; None for anything else."""
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text) else None


def bits_of(text: str) -> int | None:
    """A hexadecimal mask; None for anything else."""
    return int(text, 16) if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", text) else None


def switch(text: str) -> bool | None:
    """Enabled or disabled, yes or no; None for anything else."""
    return {"enabled": True, "yes": True, "1": True, "disabled": False, "no": False, "0": False}.get(
        text.lower()
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer taken apart: rows of the expected width, everything else that was said, exit status."""

    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]
    rc: int


def take_apart(lines: list[str], width: int) -> Answer:
    """Rows of `width` cells, remarks, exit status; an answer without an exit status was not waited for."""
    rows: list[tuple[str, ...]] = []
    remarks: list[str] = []
    rc = 124
    for line in lines:
        cells = tuple(text.strip() for text in line.split(",", width - 1))
        if ended := re.fullmatch(r"ended=(\d{1,3})", line.strip()):
            rc = int(ended[1])
        elif len(cells) == width:
            rows.append(cells)
        elif line.strip():
            remarks.append(line.strip()[:300])
    return Answer(tuple(rows), tuple(remarks), rc)


def silence(reply: Reply, answer: Answer, command: str) -> Silent:
    """Why nvidia-smi told nothing, in its own words where it said any."""
    if reply.rc == 127:
        return Silent("`nvidia-smi` is not on PATH, also not in /usr/sbin or /usr/local/cuda/bin", command)
    said = "; ".join(answer.remarks)
    if answer.rc in (124, 137):  # ended by `timeout`, by TERM or by KILL
        return Silent(f"`nvidia-smi` did not answer in time{': ' if said else ''}{said}", command)
    return Silent(f"`nvidia-smi` ended with {answer.rc}: {said or 'it said nothing'}", command)
