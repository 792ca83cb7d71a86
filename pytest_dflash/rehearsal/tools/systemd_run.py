"""systemd-run, as of systemd 252: a transient service, started at once and collected at its end.

Law: the one form that was recorded; timers are refused, as nothing asks for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal.tools import Answer, unknown

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.manager import Manager


def answer(argv: Sequence[str], manager: Manager) -> Answer:
    """`systemd-run --quiet --collect --unit=NAME [--property=…] -- ARGV`."""
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    options, command = words[:at], words[at + 1 :]
    names = [word.removeprefix("--unit=") for word in options if word.startswith("--unit=")]
    strange = [
        word
        for word in options
        if word not in ("--quiet", "--collect") and not word.startswith(("--unit=", "--property="))
    ]
    if strange or len(names) != 1 or not command or "--collect" not in options:
        return unknown("systemd-run", f"call {' '.join(argv)!r}")
    complaint = manager.transients.start(names[0], command)
    if complaint:
        return Answer(stderr=f"Failed to start transient service unit: {complaint}\n", status=1)
    return Answer()
