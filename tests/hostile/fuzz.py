"""One reader under atheris for a while: `python -m tests.hostile.fuzz SECONDS NAME…` in an environment that has atheris.

Law: drives the table of `parsers`, each name in a process of its own; what broke a reader lies in fuzz-findings/ and
becomes a case. No name means all of them. Not a test: it draws for as long as it is given.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

FINDINGS = Path("fuzz-findings")
LIMITS = ("-timeout=20", "-rss_limit_mb=3000", "-max_len=8192", "-print_final_stats=1", "-verbosity=0")


def fuzz(name: str, seconds: int) -> None:
    """Draws until the time is over or the reader breaks, and ends this process."""
    atheris = import_module("atheris")
    with atheris.instrument_imports(include=["pytest_dflash"]):
        parsers = import_module("tests.hostile.parsers")
    with tempfile.TemporaryDirectory() as corpus:
        for at, seed in enumerate(parsers.seeds()):
            Path(corpus, str(at)).write_bytes(seed[:8192])
        prefix = f"-artifact_prefix={FINDINGS}/{name.replace(' ', '-')}-"
        atheris.Setup(
            [sys.argv[0], *LIMITS, f"-max_total_time={seconds}", prefix, corpus], parsers.PARSERS[name]
        )
        atheris.Fuzz()


def main(seconds: str, *names: str) -> None:
    """One name here, as libFuzzer ends its process; several each in a process of its own."""
    FINDINGS.mkdir(exist_ok=True)
    if len(names) == 1:
        fuzz(names[0], int(seconds))
    for name in names or tuple(import_module("tests.hostile.parsers").PARSERS):
        status = subprocess.run([sys.executable, "-m", __spec__.name, seconds, name], check=False).returncode
        print(f"{name}: {'nothing broke it' if status == 0 else f'BROKE, status {status}'}", flush=True)  # noqa: T201 - a command's answer


if __name__ == "__main__":
    main(*sys.argv[1:])
