"""The report directory: made and tried at the start, filled at the end.

Law: paths and files. A directory that cannot be written is said before anything is asked of a host.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_dflash.errors import UsageError


def default(base: Path, hosts: Sequence[str], now: datetime) -> Path:
    """`reports/<UTC>_<host>`, its name free of everything that a file system minds."""
    label = re.sub(r"[^A-Za-z0-9._-]+", "-", "+".join(hosts))[:80].strip("-.") or "host"
    return base / "reports" / f"{now:%Y%m%dT%H%M%SZ}_{label}"


def prepare(folder: Path, *, latest: Path | None) -> Path:
    """Makes the directory, tries to write in it, and lets `latest` point at it.

    Args:
        folder: Where the files go.
        latest: The link to set, or None when the person named the directory.

    Raises:
        UsageError: It cannot be made or written; the message names it, the reason and the option.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if latest is not None:
            point(latest, folder)
    except OSError as error:
        raise UsageError(
            f"--dflash-report-dir: cannot write reports into {folder}: {error.strerror or error}; "
            "name another folder with --dflash-report-dir"
        ) from error
    return folder


def point(latest: Path, folder: Path) -> None:
    """Lets the link `latest` point at the folder, in one step, so that nobody sees it missing."""
    if latest.exists() and not latest.is_symlink():
        return  # a person's own file or folder of that name stays
    fresh = latest.with_name(f".latest-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.name)
    fresh.replace(latest)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Writes strict JSON in one step: a reader sees the old file or the whole new one."""
    fresh = path.with_name(f".{path.name}-{os.getpid()}")
    fresh.write_text(
        json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    fresh.replace(path)
