"""The report directory: made and tried at the start, filled at the end, taken away again where nothing was run.

Law: paths and files. A directory that cannot be written is said before anything is asked of a host.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from pytest_dflash.errors import UsageError


@dataclass(frozen=True, slots=True)
class ReportFolder:
    """Where the files of a run go.

    Attributes:
        path: The folder itself.
        latest: The link that will point at it, or None when a person named the folder.
        made: Which folders were not there before, innermost first.
    """

    path: Path
    latest: Path | None = None
    made: Sequence[Path] = ()

    def finish(self, document: Mapping[str, Any]) -> None:
        """Writes findings.json, then lets `latest` point here: whoever follows it finds the whole."""
        write_json(self.path / "findings.json", document)
        if self.latest is not None:
            with suppress(OSError):  # a file system without links
                point(self.latest, self.path)

    def discard(self, *files: Path) -> None:
        """Takes away the files, and the folders made for them where they hold nothing else."""
        with suppress(OSError):
            for each in files:
                each.unlink(missing_ok=True)
            for each in self.made:
                each.rmdir()


def named(path: Path) -> ReportFolder:
    """The folder that a person named, made where it is missing.

    Raises:
        UsageError: It cannot be made or written; the message names it, the reason and the option.
    """
    with _complaining(path):
        made = [each for each in (path, *path.parents) if not each.exists()]
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    return ReportFolder(path, made=made)


def default(base: Path, hosts: Sequence[str], now: datetime) -> ReportFolder:
    """`reports/<UTC>_<host>` below `base`, its name free of what file systems mind, and of no other run.

    Raises:
        UsageError: As in `named`.
    """
    reports = base / "reports"
    label = re.sub(r"[^A-Za-z0-9._-]+", "-", "+".join(hosts))[:80].strip("-.") or "host"
    wanted = reports / f"{now:%Y%m%dT%H%M%SZ}_{label}"
    with _complaining(wanted):
        made = [] if reports.exists() else [reports]
        reports.mkdir(parents=True, exist_ok=True)
        path = next(each for each in _candidates(wanted) if _made(each))
    return ReportFolder(path, reports / "latest", [path, *made])


def _made(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


def _candidates(path: Path) -> Iterator[Path]:
    """The path, and where another run of the same second has it, the same with a number."""
    yield path
    for number in count(2):
        yield path.with_name(f"{path.name}-{number}")


@contextmanager
def _complaining(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"--dflash-report-dir: cannot write reports into {path}: {error.strerror or error}; "
            "name another folder with --dflash-report-dir"
        ) from error


def point(latest: Path, folder: Path) -> None:
    """Lets the link `latest` point at the folder, in one step, so that nobody sees it missing."""
    if latest.exists() and not latest.is_symlink():
        return  # a person's own file or folder of that name stays
    fresh = latest.with_name(f".latest-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.name)
    fresh.replace(latest)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Writes strict JSON, as `write_text` does."""
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Writes a file in one step: a reader sees the old one or the whole new one."""
    fresh = path.with_name(f".{path.name}-{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def append(path: Path, text: str) -> None:
    """Adds to a file that others add to as well."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
