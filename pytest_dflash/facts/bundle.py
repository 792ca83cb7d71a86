"""Many files in one reply.

Law: framing only. `head -v` writes `==> PATH <==` before each file that it could open, so one fork reads
hundreds of files and what could not be opened is simply not there. Content is bytes; NUL is data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

CAP_BYTES = 262_144
"""What `head -c` takes of each file at most. A longer environment ends with its last whole entry."""

_HEADER = re.compile(rb"(?:\A|\n)==> (?:[^\n]*)/proc/(\d{1,10})/([a-z]+) <==\n")


def files(stdout: bytes) -> Mapping[tuple[int, str], bytes]:
    """Contents by pid and name, of `head -v` over /proc/PID/NAME; the first of two equal headers counts."""
    found: dict[tuple[int, str], bytes] = {}
    headers = list(_HEADER.finditer(stdout))
    ends = [header.start() for header in headers[1:]] + [len(stdout)]
    for header, end in zip(headers, ends if headers else [], strict=True):
        found.setdefault((int(header[1]), header[2].decode()), stdout[header.end() : end])
    return found
