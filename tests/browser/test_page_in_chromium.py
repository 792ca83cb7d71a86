"""report.html in a real Chromium: no error in its console, everything there, filters that filter, text that stays text."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.findings import Outcome
from pytest_dflash.report.page import render
from tests.plugin.conftest import Project, project  # noqa: F401 - the fixture
from tests.report.documents import HOSTILE, document, evidence, finding
from tests.report.test_pictures import rate

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
REQUIRED = os.environ.get("DFLASH_BROWSER") == "required"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER) and not REQUIRED,
        reason="Debian's chromium and chromium-driver are not installed",
    ),
    # Selenium leaves sockets of its driver to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

SECTIONS = ("verdict", "wrong", "settings", "side-by-side", "measured", "untested", "checks")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium import webdriver  # noqa: PLC0415 - only where a browser is

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or "chromium"
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options, webdriver.ChromeService(DRIVER or "chromedriver"))
    yield made
    made.quit()


def whole() -> str:
    """A page with every section, two hosts, and a host that sends markup."""
    lost = finding(
        "flags.in_force",
        "fail",
        param="tp-size",
        expected=8,
        summary="tp-size drifted",
        cause="a reload was forgotten",
        remedy="restart it",
        evidence=[evidence("unit_file", 8), evidence("server_info", 4, differs=True)],
    )
    hostile = finding(
        "gpu.name", "fail", param=HOSTILE, summary=HOSTILE, cause=HOSTILE, evidence=[evidence("x", HOSTILE)]
    )
    hosts = [{"name": name, "unit": "e.service", "engine": "sglang"} for name in ("gpu1", "gpu2")]
    more = [finding("gpu.ecc"), finding("gpu.ecc", "unproven", host="gpu2"), finding("host.xid", "not_run")]
    more += [finding("host.memory", host=name) for name in ("gpu1", "gpu2")]
    speed = [
        finding(
            "throughput.total_rate",
            **{k: v for k, v in rate(n, 60.0 * n).items() if k in ("measures", "series")},
        )
        for n in (1, 8)
    ]
    return render.page(document(lost, hostile, *more, *speed, *curves(), hosts=hosts))


def curves() -> Iterator[dict[str, Any]]:
    """What each kind of picture is drawn from, with numbers as a large host has them."""
    seconds = list(range(0, 3600, 60))
    for card in range(8):
        measured = {
            "power_w": [600.5 + card] * 60,
            "clock_sm_mhz": [2400 + card] * 60,
            "temperature_c": [71] * 60,
        }
        yield finding("throughput.host_under_load", param=f"GPU-{card}", series={"at_s": seconds, **measured})
    waits = {"concurrency": 128, "ttft_ms": 12_345.6, "ttft_low_ms": 12_000.0, "ttft_high_ms": 13_000.0}
    yield finding(
        "throughput.ttft", param="many", measures=waits, series={"ttft_ms": [90.0, 9_000.0, 20_000.0]}
    )
    yield finding("throughput.acceptance", param="many", series={"accepted_at": [0.9, 0.6, 0.3]})
    points = [
        {"context_tokens": 512, "accept_length": 4.1},
        {"context_tokens": 131_072, "accept_length": 2.0},
    ]
    yield finding("throughput.context", series={"points": points, "window_tokens": 2048})
    for budget in (1, 3, 7, 8, 15, 16, 31, 63):
        for topk in (1, 4):
            measures = {"accept_length": 1.234 + budget / 9}
            yield finding("tree.acceptance_per_budget", param=f"{budget}-topk{topk}", measures=measures)
    yield finding("tree.lossless", series={"margins": [0.01, 0.3]}, measures={"tolerance_nats": 0.5})


PICTURES = (
    "Output rate, all requests", "Time to first token", "Time to first token, by share of requests",
    "Share of accepted drafts by depth", "Accept length over context", "Accept length by budget and top-k",
    "Power under load", "Clocks under load", "Temperature under load", "Divergence margins",
)  # fmt: skip


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The page, opened."""
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"></head><body>{whole()}</body></html>'
    )
    browser.get(path.as_uri())
    return browser


def shown(page: Any) -> list[Any]:
    return [row for row in page.find_elements("css selector", "#all-checks tbody tr") if row.is_displayed()]


def choose(page: Any, name: str, position: int) -> None:
    """Chooses an option as a person with a keyboard does."""
    field = page.find_element("id", name)
    field.send_keys("\ue011")  # Home
    for _ in range(position):
        field.send_keys("\ue015")  # down


def test_the_console_stays_empty(page: Any) -> None:
    assert [entry for entry in page.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


def test_all_sections_are_there(page: Any) -> None:
    for name in SECTIONS:
        assert page.find_element("id", name).is_displayed(), name
    assert page.find_elements("css selector", "#measured svg circle")


def test_the_first_screen_has_verdict_hosts_and_the_first_failure(page: Any) -> None:
    page.execute_script("scrollTo(0, 0)")
    height = page.execute_script("return innerHeight")
    for selector in ("#verdict h2", ".counts", ".next", ".host", "#wrong h2", "#wrong-1 h3"):
        bottom = page.execute_script(
            "return arguments[0].getBoundingClientRect().bottom", page.find_element("css selector", selector)
        )
        assert bottom < height, f"{selector} ends at {bottom} of {height}"


def test_filters_leave_what_was_asked_for(page: Any) -> None:
    every = len(shown(page))
    text = page.find_element("id", "filter-text")
    text.send_keys("tp-size")
    assert len(shown(page)) == 1
    assert page.find_element("id", "filter-count").text == f"1 of {every} findings"
    text.clear()
    text.send_keys(" ")
    choose(page, "filter-outcome", 1 + list(Outcome).index(Outcome.UNPROVEN))
    assert [row.find_element("class name", "name").text for row in shown(page)] == ["gpu.ecc"]
    choose(page, "filter-outcome", 0)
    choose(page, "filter-host", 2)
    assert len(shown(page)) == 2
    choose(page, "filter-host", 0)
    assert len(shown(page)) == every


def test_hosts_are_compared_where_they_differ_and_everywhere_when_asked(page: Any) -> None:
    def names() -> list[str]:
        rows = page.find_elements("css selector", "#hosts-compared tbody tr")
        return [row.find_element("tag name", "th").text for row in rows if row.is_displayed()]

    assert "gpu.ecc" in names()
    assert "host.memory" not in names()
    page.find_element("id", "filter-same").send_keys(" ")
    assert "host.memory" in names()
    page.find_element("id", "filter-same").send_keys(" ")
    assert "host.memory" not in names()


def test_each_picture_is_there_and_names_what_it_marks(page: Any) -> None:
    titles = {each.text.removesuffix(" on gpu1") for each in page.find_elements("css selector", "figcaption")}
    assert titles >= set(PICTURES)
    told = page.find_element("id", "measured").text
    assert all(word in told for word in ("floor", "may lie between", "window", "noise explains"))


@pytest.mark.parametrize("width", [1280, 480])
def test_every_word_of_a_picture_is_within_it_and_none_lies_on_another(page: Any, width: int) -> None:
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        assert page.execute_script(MISPLACED) == []
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


MISPLACED = """
const found = [];
document.querySelectorAll("#measured svg").forEach((svg) => {
  const frame = svg.getBoundingClientRect();
  const words = Array.from(svg.querySelectorAll("text")).map((text) => [text.textContent, text.getBoundingClientRect()]);
  words.forEach(([said, box], n) => {
    const across = box.left >= frame.left - 1 && box.right <= frame.right + 1;
    const outside = !across || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    if (outside) found.push(`${svg.ariaLabel}: ${said} is cut off`);
    words.slice(n + 1).forEach(([other, that]) => {
      const beside = box.right <= that.left + 1 || that.right <= box.left + 1;
      const below = box.bottom <= that.top + 3 || that.bottom <= box.top + 3;
      if (!beside && !below) found.push(`${svg.ariaLabel}: ${said} lies on ${other}`);
    });
  });
});
return found;
"""


def test_a_chip_filters_by_its_outcome(page: Any) -> None:
    page.execute_script("scrollTo(0, 0)")
    page.find_element("css selector", ".counts .chip.fail").click()
    assert {row.get_attribute("data-outcome") for row in shown(page)} == {"fail"}
    choose(page, "filter-outcome", 0)


def test_columns_sort_by_keyboard(page: Any) -> None:
    button = page.find_element("css selector", "#all-checks th:nth-child(2) button")
    button.send_keys("\ue007")
    names = [row.find_element("class name", "name").text for row in shown(page)]
    natural = [[int(w) if w.isdigit() else w.lower() for w in re.split(r"(\d+)", name)] for name in names]
    assert natural == sorted(natural)
    button.send_keys("\ue007")
    again = [row.find_element("class name", "name").text for row in shown(page)]
    assert again[0] == names[-1]


def test_everything_that_acts_is_reached_by_the_tab_key(page: Any) -> None:
    acting = page.find_elements(
        "css selector", "#dflash a[href], #dflash button, #dflash summary, #dflash select, #dflash input"
    )
    assert len(acting) > 15
    assert all(int(each.get_attribute("tabIndex")) >= 0 for each in acting)


def test_markup_from_a_host_is_text(page: Any) -> None:
    assert page.execute_script("return document.scripts.length") == 1
    assert "<script>alert(1)</script>" in page.find_element("id", "wrong").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_in_dark(page: Any, scheme: str) -> None:
    page.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    told = page.execute_script(
        "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor].map(c => c.match(/\\d+/g).map(Number))"
    )
    ink, paper = (sum(colour[:3]) / 3 for colour in told)
    assert abs(ink - paper) > 150
    assert (paper > 128) is (scheme == "light")


def test_a_narrow_window_scrolls_tables_and_not_the_page(page: Any) -> None:
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 480, "height": 800, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= 490
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_printing_shows_what_is_folded_and_hides_what_needs_a_mouse(page: Any) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not page.find_element("css selector", "nav").is_displayed()
    assert page.execute_cdp_cmd("Page.printToPDF", {})["data"].startswith("JVBERi0")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_whole_report_of_a_run_has_pytests_table_below_and_no_error(browser: Any, project: Project) -> None:  # noqa: F811 - the fixture
    project.checks(
        project.finding("fail")
        + project.finding("pass", name="gpu.ecc", function="test_other")
        + "def test_of_somebody_else():\n    print('<b>said</b>')\n"
    )
    browser.get((project.run().folder / "report.html").as_uri())
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    assert browser.find_element("css selector", "#verdict h2").text == "REJECT the host must not take traffic"
    rows = browser.find_elements("css selector", "#results-table .results-table-row")
    assert len(rows) == 3
    logs = [row for row in browser.find_elements("css selector", ".extras-row") if row.is_displayed()]
    assert "told above" not in "".join(row.text for row in logs)
    ours, theirs = (
        browser.execute_script("return arguments[0].getBoundingClientRect().top", e)
        for e in (browser.find_element("id", "checks"), rows[0])
    )
    assert ours < theirs
