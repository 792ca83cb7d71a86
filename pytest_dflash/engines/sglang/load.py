"""How busy SGLang is, by its passive routes.

Law: text in, a load or the reason why there is none out. Ranks are added up.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping

from pytest_dflash.engines.dialect import Load
from pytest_dflash.facts.reading import Reading, Silent, Value

RUNNING = re.compile(r"^sglang[:_]num_running_reqs(?:\{[^}]*\})? (\S+)", re.MULTILINE)
QUEUED = re.compile(r"^sglang[:_]num_queue_reqs(?:\{[^}]*\})? (\S+)", re.MULTILINE)


def _loads(text: str) -> Load | None:
    """`/v1/loads`: a list of ranks under `loads`, running and waiting requests apart."""
    document = json.loads(text)
    ranks = document.get("loads") if isinstance(document, Mapping) else None
    return _sum(ranks, "num_running_reqs", apart=True)


def _get_load(text: str) -> Load | None:
    """`/get_load`, gone in 0.5.21: a list of ranks, `num_reqs` being running and waiting ones together."""
    return _sum(json.loads(text), "num_reqs", apart=False)


def _sum(ranks: object, key: str, *, apart: bool) -> Load | None:
    if not isinstance(ranks, list) or not ranks:
        return None
    counted = queued = 0
    for rank in ranks:
        if not isinstance(rank, Mapping):
            return None
        here, waiting = rank.get(key), rank.get("num_waiting_reqs")
        if not isinstance(here, int) or not isinstance(waiting, int):
            return None
        counted, queued = counted + here, queued + waiting
    return Load(counted if apart else max(0, counted - queued), queued)


def _metrics(text: str) -> Load | None:
    """`/metrics`, with --enable-metrics only. Its gauges may lag behind by a decode log interval."""
    running, queued = RUNNING.findall(text), QUEUED.findall(text)
    return Load(_total(running), _total(queued)) if running and queued else None


def _total(samples: Iterable[str]) -> int:
    numbers = [float(sample) for sample in samples]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("no number")
    return math.ceil(sum(numbers))


ROUTES: Mapping[str, Callable[[str], Load | None]] = {
    "/v1/loads": _loads,
    "/get_load": _get_load,
    "/metrics": _metrics,
}
"""In the order in which they are asked: the exact ones first."""


def load(path: str, text: str) -> Reading[Load]:
    """The load that a route tells."""
    reader = ROUTES.get(path)
    try:
        found = reader(text) if reader else None
    except (ValueError, RecursionError, OverflowError):
        found = None
    where = f"GET {path}"
    return Silent("it tells no running and queued requests", where) if found is None else Value(found, where)
