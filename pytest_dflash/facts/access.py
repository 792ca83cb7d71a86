"""Who may read a file of the host.

Law: a piece of sh and its reader: owner, mode, and the modes of the folders above, links followed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MODE = re.compile(r"[0-7]{1,5}", re.ASCII)

WHOSE = r"""
top=$(readlink -f -- "$R" 2>/dev/null)
whose() { ( # FILE: `root:644 755 755`
    above=$(readlink -f -- "$1")
    file=$1
    set --
    while above=${above%/*}; [ -n "$above" ] && [ "$above" != "$top" ]; do set -- "$@" "$above"; done
    modes=$(stat -c %a -- "$@" 2>/dev/null | tr '\n' ' ')
    printf '%s %s' "$(stat -L -c %U:%a -- "$file")" "$modes"
) }
"""
"""sh: `whose FILE` prints the owner, the file's mode, and those of the folders above it but for the root."""


@dataclass(frozen=True, slots=True)
class Access:
    """Whose a file is, its mode, and those of the folders above it, the root left out; links are followed."""

    owner: str
    mode: int
    folders: tuple[int, ...] = ()

    @property
    def for_all(self) -> bool:
        """Whether every user of the host can read it."""
        return bool(self.mode & 0o004) and all(folder & 0o001 for folder in self.folders)

    def __str__(self) -> str:
        return f"mode {self.mode:04o}, of {self.owner}"


def read_access(text: str) -> Access | None:
    """What `whose` printed; None where a part is missing."""
    owner, _, modes = text.rpartition(":")
    told = modes.split()
    if not owner or not told or not all(_MODE.fullmatch(each) for each in told):
        return None
    mode, *folders = (int(each, 8) for each in told)
    return Access(owner, mode, tuple(folders))
