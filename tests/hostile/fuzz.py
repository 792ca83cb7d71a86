"""One reader under atheris for a while: `python -m tests.hostile.fuzz SECONDS NAME…` in an environment that has atheris.

Law: drives the table of `parsers`, each name in a process of its own, small ones together as "NAME+NAME": each of them
reads every input. What broke a reader lies in fuzz-findings/ and becomes a case. No name means all of them. Not a
test: it draws for as long as it is given.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

FINDINGS = Path("fuzz-findings")
LIMITS = ("-timeout=20", "-rss_limit_mb=3000", "-max_len=8192", "-print_final_stats=1", "-verbosity=0")


def fuzz(atheris: Any, parsers: Any, name: str, seconds: int) -> None:
    """Draws until the time is over or the reader breaks, and ends this process."""
    with tempfile.TemporaryDirectory() as corpus:
        for at, seed in enumerate(parsers.seeds()):
            Path(corpus, str(at)).write_bytes(seed[:8192])
        prefix = f"-artifact_prefix={FINDINGS}/{name.replace(' ', '-')[:80]}-"
        readers = [parsers.PARSERS[each] for each in name.split("+")]

        def read(data: bytes) -> None:
            for reader in readers:
                reader(data)

        atheris.Setup([sys.argv[0], *LIMITS, f"-max_total_time={seconds}", prefix, corpus], read)
        atheris.Fuzz()


def main(seconds: str, *names: str) -> None:
    """Each name in a child, as libFuzzer ends its process."""
    atheris = import_module("atheris")
    with atheris.instrument_imports(include=["pytest_dflash"]):
        parsers = import_module("tests.hostile.parsers")
    FINDINGS.mkdir(exist_ok=True)
    for name in names or tuple(parsers.PARSERS):
        child = os.fork()
        if not child:
            fuzz(atheris, parsers, name, int(seconds))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(f"{name}: {'nothing broke it' if status == 0 else f'BROKE, status {status}'}", flush=True)  # noqa: T201 - a command's answer


if __name__ == "__main__":
    main(*sys.argv[1:])
