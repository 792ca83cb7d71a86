"""Which numbers of the findings become which picture.

Law: findings as in findings.json in, figures out; a number that is not there is not drawn, and never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pytest_dflash.report.document import Findings
from pytest_dflash.report.page.charts import Point, Series, Words, heat, lines

Picture = Callable[[Findings, str], Iterator[str]]
CARDS_SHOWN = 8


def pictures(findings: Findings, hosts: Sequence[str]) -> list[str]:
    """All figures; the same ones of several hosts stand side by side."""
    mine = {host: [each for each in findings if each["host"] == host] for host in hosts}
    made: list[str] = []
    for draw in DRAWN:
        drawn = [draw(mine[host], f" on {host}" if len(hosts) > 1 else "") for host in hosts]
        made += [figure for row in zip_longest(*drawn, fillvalue="") for figure in row if figure]
    return made


def number(value: Any) -> float | None:
    """A measure, if it is one."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _of(findings: Findings, check: str) -> list[Mapping[str, Any]]:
    return [each for each in findings if each["check"] == check]


def _series(finding: Mapping[str, Any]) -> Mapping[str, Any]:
    """The curves of a finding; older files have none."""
    found = finding.get("series")
    return found if isinstance(found, Mapping) else {}


def _over_concurrency(findings: Findings, check: str, key: str, limit: str) -> list[Series]:
    """A measure over the concurrency of its load, one series for each class of text."""
    by: dict[str, list[Point]] = {}
    for each in _of(findings, check):
        measures = each["measures"]
        x, y = number(measures.get("concurrency")), number(measures.get(key))
        if x is None or y is None:
            continue
        stem = key.removesuffix("_ms")
        low, high, held = (
            next(
                (
                    v
                    for n in (f"{key}_{end}", f"{stem}_{end}_ms")
                    if (v := number(measures.get(n))) is not None
                ),
                None,
            )
            for end in ("low", "high", limit)
        )
        by.setdefault(str(_series(each).get("class") or "load"), []).append(Point(x, y, low, high, held))
    return [Series(name, sorted(points, key=lambda p: p.x)) for name, points in by.items()]


def _rates(findings: Findings, suffix: str) -> Iterator[str]:
    total = _over_concurrency(findings, "throughput.total_rate", "output_tokens_per_s", "floor")
    yield lines(
        f"Output rate, all requests{suffix}", Words("concurrent requests", "tokens/s", counts=True), total
    )
    each = _over_concurrency(findings, "throughput.decode_rate", "decode_tokens_per_s", "floor")
    yield lines(
        f"Decode rate of each request{suffix}", Words("concurrent requests", "tokens/s", counts=True), each
    )


def _latency(findings: Findings, suffix: str) -> Iterator[str]:
    first = _over_concurrency(findings, "throughput.ttft", "ttft_ms", "ceiling")
    yield lines(
        f"Time to first token{suffix}",
        Words("concurrent requests", "ms", limit="ceiling", counts=True),
        first,
    )
    spread = [
        Series(
            str(each["param"]),
            [Point(100.0 * (n + 1) / len(values), float(v)) for n, v in enumerate(values)],
            marks=False,
        )
        for each in _of(findings, "throughput.ttft")
        if (values := [v for v in _series(each).get("ttft_ms") or () if number(v) is not None])
    ]
    yield lines(
        f"Time to first token, by share of requests{suffix}",
        Words("per cent of requests", "ms at most"),
        spread,
    )


def _starts(findings: Findings, suffix: str) -> Iterator[str]:
    """A load in each of several processes, those in a slow mode apart: which one it is shows at first sight."""
    for each in _of(findings, "throughput.starts"):
        told = _series(each)
        points = [
            Point(at, float(rate), number(low), number(high), number(told.get("floor")))
            for at, (rate, low, high) in enumerate(
                zip_longest(*(told.get(f"{name}_by_start") or () for name in ("total_rate", "low", "high"))),
                1,
            )
            if number(rate) is not None
        ]
        slow, alike = told.get("slow") or (), number(told.get("alike_from"))
        drawn = [
            Series("start", [point for point in points if point.x not in slow], joined=False),
            Series(
                "start in a slow mode",
                [point for point in points if point.x in slow],
                joined=False,
                tone="bad",
            ),
        ]
        if alike is not None and points:
            ends = [Point(at, alike) for at in (points[0].x, points[-1].x)]
            drawn.append(Series("alike from here", ends, marks=False, tone="edge"))
        yield lines(
            f"Output rate in each process, {each['param']}{suffix}",
            Words("start of the unit, in order", "tokens/s", numbered=True),
            drawn,
        )


def _acceptance(findings: Findings, suffix: str) -> Iterator[str]:
    depth = [
        Series(
            str(each["param"]), [Point(n, float(v)) for n, v in enumerate(shares) if number(v) is not None]
        )
        for each in _of(findings, "throughput.acceptance")
        if (shares := _series(each).get("accepted_at"))
    ]
    yield lines(
        f"Share of accepted drafts by depth{suffix}", Words("depth in the draft", "share", counts=True), depth
    )
    for each in _of(findings, "throughput.context"):
        told = _series(each)
        points = [
            Point(float(p["context_tokens"]), float(p["accept_length"]))
            for p in told.get("points") or ()
            if number(p.get("context_tokens")) is not None and number(p.get("accept_length")) is not None
        ]
        window = number(told.get("window_tokens"))
        yield lines(
            f"Accept length over context{suffix}",
            Words("tokens of context", "tokens a step"),
            [Series("", points)],
            window,
        )


def _budgets(findings: Findings, suffix: str) -> Iterator[str]:
    """Accept length for each budget, and with top-k values a map of both."""
    cells: dict[tuple[str, str], float] = {}
    for each in _of(findings, "tree.acceptance_per_budget"):
        value = next(
            (v for k in ("accept_length", "mean_accept_length") if (v := number(each["measures"].get(k)))),
            None,
        )
        if value is not None and each["param"]:
            budget, _, topk = str(each["param"]).partition("-topk")
            cells[topk, budget] = value
    topks, budgets = (list(dict.fromkeys(key[n] for key in cells)) for n in (0, 1))
    if topks and topks != [""]:
        rows = [[cells.get((topk, budget)) for budget in budgets] for topk in topks]
        yield heat(f"Accept length by budget and top-k{suffix}", budgets, topks, rows, ("budget", "top-k"))
    elif all(budget.isdigit() for budget in budgets) and budgets:
        points = sorted((Point(float(b), cells["", b]) for b in budgets), key=lambda p: p.x)
        yield lines(
            f"Accept length by budget{suffix}",
            Words("draft nodes", "tokens a step", counts=True),
            [Series("", points)],
        )


def _cards(findings: Findings, suffix: str) -> Iterator[str]:
    """Power and clocks while it worked, a line for each GPU."""
    for key, name, unit in (
        ("power_w", "Power under load", "W"),
        ("clock_sm_mhz", "Clocks under load", "MHz"),
        ("temperature_c", "Temperature under load", "\u00b0C"),
    ):
        drawn = [
            Series(
                f"GPU {n}",
                [
                    Point(float(t), float(v))
                    for t, v in zip(told["at_s"], told[key], strict=False)
                    if number(v) is not None
                ],
                marks=False,
            )
            for n, each in enumerate(_of(findings, "throughput.host_under_load")[:CARDS_SHOWN])
            if (told := _series(each)).get("at_s") and told.get(key)
        ]
        yield lines(f"{name}{suffix}", Words("seconds since the first load", unit), drawn)


def _margins(findings: Findings, suffix: str) -> Iterator[str]:
    """How far from the target's own choice the tokens that differ were, beside what noise explains."""
    found = [
        (each, sorted(float(v) for v in values if number(v) is not None))
        for each in findings
        if each["check"].startswith("tree.lossless") and (values := _series(each).get("margins"))
    ]
    drawn = [
        Series(
            f"{each['check']} {each['param'] or ''}".rstrip(),
            [Point(n + 1.0, v) for n, v in enumerate(values)],
        )
        for each, values in found
    ]
    within = [v for each, _ in found if (v := number(each["measures"].get("tolerance_nats"))) is not None]
    if within:
        most = max(len(values) for _, values in found)
        ends = [Point(at, max(within)) for at in (1.0, float(most))]
        drawn.append(Series("noise explains", ends, marks=False))
    yield lines(
        f"Divergence margins{suffix}", Words("differing token, nearest first", "nats", counts=True), drawn
    )


DRAWN: tuple[Picture, ...] = (_rates, _starts, _latency, _acceptance, _budgets, _cards, _margins)
