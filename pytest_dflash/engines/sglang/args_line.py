"""`server_args=ServerArgs(a=1, …)` and `server_args={'a': 1, …}`, read without trusting either.

Law: text in, fields out, never an exception; how Python's values are read is `engines.literals`' business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_dflash.engines.literals import printed
from pytest_dflash.findings import Json

_START = re.compile(r"server_args=(?:ServerArgs\(|\{)")


@dataclass(frozen=True, slots=True)
class ArgsLine:
    """The fields of one line. `whole`: the closing bracket was there, so nothing was cut off."""

    fields: dict[str, Json]
    whole: bool


def parse(text: str) -> ArgsLine | None:
    """The fields of a line that begins with `server_args=`; None when it does not."""
    start = _START.match(text)
    if not start:
        return None
    return ArgsLine(*printed(text, start.end()))
