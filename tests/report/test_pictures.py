"""Pictures: drawn from the numbers that are there, well-formed, and never an error."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pytest_dflash.report.page import charts, pictures
from pytest_dflash.report.page.charts import Axis, Point, Series

NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(10**12), 10**12)


def finding(
    check: str, param: str | None = None, *, measures: dict[str, Any] | None = None, **series: Any
) -> dict[str, Any]:
    return {"check": check, "param": param, "host": "gpu1", "measures": measures or {}, "series": series}


def drawn(*findings: dict[str, Any]) -> str:
    made = "".join(pictures.pictures(findings, ["gpu1"]))
    ET.fromstring(f"<all>{made}</all>")
    return made


def rate(concurrency: int, value: float, **more: Any) -> dict[str, Any]:
    measures = {
        "concurrency": concurrency,
        "output_tokens_per_s": value,
        "output_tokens_per_s_floor": 60.0,
    } | more
    return finding("throughput.total_rate", f"load {concurrency}", measures=measures, **{"class": "prose"})


def test_the_rate_is_drawn_over_concurrency_with_its_floor_and_bounds() -> None:
    page = drawn(rate(8, 400.0, output_tokens_per_s_low=380.0, output_tokens_per_s_high=420.0), rate(1, 64.0))
    assert "Output rate, all requests" in page
    assert page.count("<circle") == 2
    assert page.count('class="limit"') == 2
    assert "prose: 64 at 1" in page


def test_each_kind_of_curve_becomes_a_figure() -> None:
    page = drawn(
        finding(
            "throughput.ttft", "chat", measures={"concurrency": 1, "ttft_ms": 80.0}, ttft_ms=[70, 80, 95]
        ),
        finding("throughput.acceptance", "chat", accepted_at=[0.9, 0.6, 0.3]),
        finding(
            "throughput.context",
            points=[
                {"context_tokens": 1024, "accept_length": 4.1},
                {"context_tokens": 8192, "accept_length": 2.0},
            ],
            window_tokens=2048,
        ),
        finding(
            "throughput.host_under_load",
            "GPU-1",
            at_s=[0, 1, 2],
            power_w=[90, None, 580],
            clock_sm_mhz=[1, 2, 3],
        ),
        finding("tree.acceptance_per_budget", "3", measures={"accept_length": 2.1}),
        finding("tree.acceptance_per_budget", "7", measures={"accept_length": 2.9}),
        finding("tree.lossless", margins=[0.01, 0.3]),
    )
    for title in (
        "Time to first token",
        "by share of requests",
        "accepted drafts by depth",
        "Accept length over context",
        "Power under load",
        "Clocks under load",
        "Accept length by budget",
        "Divergence margins",
    ):
        assert title in page
    assert 'class="rule"' in page


def in_each_process(*rates: float | None, **more: Any) -> dict[str, Any]:
    told = {
        "total_rate_by_start": list(rates),
        "low_by_start": [rate and rate - 2 for rate in rates],
        "high_by_start": [rate and rate + 2 for rate in rates],
    }
    return finding("throughput.starts", "chat", **told | more)


def test_a_slow_start_is_marked_among_those_of_its_load() -> None:
    page = drawn(in_each_process(50.0, 33.5, 50.2, slow=[2], alike_from=47.69, floor=40.0))
    assert "Output rate in each process, chat" in page
    assert page.count("<circle") == 3
    assert page.count('<circle class="sbad"') == 1
    assert "start in a slow mode: 33.5 at 2" in page
    assert page.count('class="limit"') == 3
    for key in ("kbad", "kedge", "klimit", "kbounds"):
        assert f"key {key}" in page
    # Starts are no course of anything: only the bound of those that are alike is a line, and the first is number 1.
    assert page.count("<polyline") == page.count('<polyline class="sedge"') == 1
    assert [each.text for each in ET.fromstring(page).iter("text")][-5:-2] == ["1", "2", "3"]


def test_starts_that_are_alike_have_no_mark_of_a_slow_one_and_files_of_before_are_drawn() -> None:
    assert "kbad" not in drawn(in_each_process(50.0, 49.0, slow=[], alike_from=47.5))
    assert drawn(finding("throughput.starts", "chat", total_rate_by_start=[50.0, 30.0])).count("<circle") == 2
    assert drawn(finding("throughput.starts", "chat")) == ""
    assert drawn(in_each_process(None, None)) == ""


def test_budgets_with_topk_become_a_heat_map() -> None:
    cells = [("3", "1", 2.0), ("7", "1", 2.4), ("3", "4", 2.2)]
    page = drawn(
        *(
            finding("tree.acceptance_per_budget", f"{b}-topk{k}", measures={"accept_length": v})
            for b, k, v in cells
        )
    )
    assert "Accept length by budget and top-k" in page
    assert page.count('class="heat"') == 3


def test_margins_stand_beside_what_noise_explains() -> None:
    one = finding("tree.lossless", measures={"tolerance_nats": 0.125}, margins=[0.01, 0.05, 4.0])
    page = drawn(
        one, finding("tree.lossless_per_budget", "15", measures={"tolerance_nats": 0.2}, margins=[0.1])
    )
    for said in (
        "tree.lossless: 4 at 3",
        "tree.lossless_per_budget 15: 0.1 at 1",
        ">noise explains<",
        ">nats<",
    ):
        assert said in page


def test_nothing_is_drawn_of_nothing() -> None:
    assert drawn(finding("throughput.total_rate"), finding("gpu.count")) == ""


def test_hostile_names_are_text() -> None:
    assert "<script>" not in drawn(finding("throughput.acceptance", "<script>", accepted_at=[1, 2]))


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=8))
@example([(0.0, 0.0, 5e-324)])
def test_any_numbers_make_a_figure_or_none(values: list[tuple[float, float, float]]) -> None:
    series = [Series("<&", [Point(float(x), float(y), float(low)) for x, y, low in values])]
    figure = charts.lines("t", charts.Words("x", "y"), series)
    assert not figure or ET.fromstring(figure).tag == "figure"
    assert "nan" not in figure
    assert "inf" not in figure


def test_ticks_are_round_and_within_the_axis() -> None:
    assert Axis(0, 420, 0, 1).ticks() == [0, 100, 200, 300, 400]
    assert Axis(1, 64, 0, 1).ticks() == [20, 40, 60]
    assert Axis(-0.1, 2.1, 0, 1).ticks(whole=True) == [0, 1, 2]
