"""What an unrelated project pays for this plugin being installed: `pytest --collect-only`, with and without it.

Law: measures and prints. Runs alternate, so that a busy machine slows both alike; medians are compared.

Usage: python benchmarks/idle_cost.py [RUNS]
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WITHOUT = ("-p", "no:dflash")
ALLOWED_MS = 5.0


def collect(folder: Path, *arguments: str) -> float:
    """Seconds of CPU that one collection takes: other processes' waiting does not count."""
    before = _children()
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(runs: int) -> int:
    """Prints both medians and the difference; 1 when it is more than allowed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_something.py").write_text("def test_something():\n    pass\n")
        collect(folder)  # fills the caches
        collect(folder, *WITHOUT)
        pairs = [(collect(folder), collect(folder, *WITHOUT)) for _ in range(runs)]
    with_it, without = (statistics.median(each) * 1000 for each in zip(*pairs, strict=True))
    extra = statistics.median((a - b) * 1000 for a, b in pairs)
    print(
        f"with {with_it:.1f} ms, without {without:.1f} ms, median difference {extra:+.1f} ms of {ALLOWED_MS:g} allowed"
    )
    return int(extra > ALLOWED_MS)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 21))
