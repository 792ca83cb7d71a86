"""nvidia-smi and nvcc.

Law: a table of values by field name (`recordings/gpus.json`, copied into the stand-in, where faults edit it).
Beside `every`, `each` and `busy` (what a card that works shows instead) it may hold `kept` (what a card, by its index,
shows although it works), `others` (rows of processes that are not the unit's), `complaint` (a text and
a status: all that nvidia-smi says then), `remark` (what it says beside its rows), `unlisted` (no process table)
and `toolkit` (a release).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import ProxyHandler, build_opener

from pytest_dflash.rehearsal.tools import Answer, unknown

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.manager import Manager

RELEASE = "13.0"
LOOK_S = 0.5
NO_PROXY = build_opener(ProxyHandler({}))
FORM = "--format=csv,noheader,nounits"
PTXAS = """ptxas: NVIDIA (R) Ptx optimizing assembler
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:55:41_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0
"""
NVCC = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:58:59_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0
"""


def table(manager: Manager) -> Mapping[str, Any]:
    """What the stand-in's cards are."""
    found: Mapping[str, Any] = json.loads((manager.folder / "gpus.json").read_text("utf-8"))
    return found


def cards(manager: Manager) -> list[dict[str, str]]:
    """Each GPU's values by the name of the field: those of work while the engine answers requests."""
    found = table(manager)
    held: Mapping[str, str] = found["every"]
    each: list[Mapping[str, str]] = found["each"]
    working = found.get("busy", {}) if busy(manager) else {}
    kept = found.get("kept", {})
    return [
        {**held, "count": str(len(each)), **one, **working, **(kept.get(one["index"], {}) if working else {})}
        for one in each
    ]


def busy(manager: Manager) -> bool:
    """Whether the unit's engine has requests, by its own account; a rehearsal's cards do not know."""
    for pid in manager.everybody():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        if "--port" not in words:
            continue
        url = f"http://127.0.0.1:{words[words.index('--port') + 1]}/v1/loads"
        with suppress(OSError, ValueError), NO_PROXY.open(url, timeout=LOOK_S) as answer:
            return bool(json.load(answer)["aggregate"]["total_running_reqs"])
    return False


def smi(argv: Sequence[str], manager: Manager) -> Answer:
    """`nvidia-smi argv`."""
    if "complaint" in (found := table(manager)):
        text, status = found["complaint"]
        return Answer(text, status=status)
    rows = cards(manager)
    if list(argv) == ["-L"]:
        return Answer(
            "".join(f"GPU {card['index']}: {card['name']} (UUID: {card['uuid']})\n" for card in rows)
        )
    queries = [word for word in argv if word.startswith("--query-")]
    if len(queries) != 1 or set(argv) - set(queries) - {FORM} or FORM not in argv:
        return unknown("nvidia-smi", f"call {' '.join(argv)!r}")
    what, _, names = queries[0].removeprefix("--query-").partition("=")
    if what == "gpu":
        answer = _rows(names.split(","), rows)
        return replace(answer, stdout=answer.stdout + found.get("remark", ""))
    if what == "compute-apps":
        return _rows(names.split(","), _processes(rows, manager))
    return unknown("nvidia-smi", f"query {what!r}")


def _processes(rows: Sequence[Mapping[str, str]], manager: Manager) -> list[dict[str, str]]:
    """One scheduler on each card, as far as they run, and who else is there."""
    if table(manager).get("unlisted"):
        return []
    titles = {
        pid: Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode() for pid in manager.everybody()
    }
    schedulers = [(pid, title) for pid, title in titles.items() if title.startswith("sglang::scheduler")]
    ours = [
        {
            "gpu_uuid": card["uuid"],
            "gpu_name": card["name"],
            "pid": str(pid),
            "process_name": title,
            "name": title,
            "used_memory": card["memory.used"],
            "used_gpu_memory": card["memory.used"],
        }
        for card, (pid, title) in zip(rows, schedulers, strict=False)
    ]
    others: list[dict[str, str]] = table(manager).get("others", [])
    return ours + others


def _rows(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Answer:
    for name in names:
        if rows and name.strip() not in rows[0]:
            return Answer(f'Field "{name.strip()}" is not a valid field to query.\n\n', status=2)
    return Answer("".join(", ".join(row[name.strip()] for name in names) + "\n" for row in rows))


def nvcc(argv: Sequence[str], manager: Manager) -> Answer:
    """`nvcc --version`."""
    if list(argv) not in (["--version"], ["-V"]):
        return unknown("nvcc", f"call {' '.join(argv)!r}")
    return Answer(NVCC.replace(RELEASE, table(manager).get("toolkit", RELEASE)))


def ptxas(argv: Sequence[str], manager: Manager) -> Answer:
    """`ptxas --version`."""
    if list(argv) != ["--version"]:
        return unknown("ptxas", f"call {' '.join(argv)!r}")
    return Answer(PTXAS.replace(RELEASE, table(manager).get("toolkit", RELEASE)))
