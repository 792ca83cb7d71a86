"""Records docs/sample.json and docs/report.webp anew: a rehearsal with five faults at once, and its report in a browser.

Law: runs the rehearsal as a person does, and takes out of its findings only what is of this machine: two folders.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs_pages import SAMPLE, sample
from selenium import webdriver

ROOT = Path(__file__).parents[1]
PICTURE = SAMPLE.with_name("report.webp")
FAULTS = ("window-dropped", "old-driver", "disk-full", "key-on-command-line", "narrow-link")
STAND_IN = re.compile(r"/[^\s\"'`]*/dfl-rehearsal-\w+/host/root")
"""The stand-in's root, which a real host does not have."""
WIDTH, HEIGHT, QUALITY = 1180, 830, 75


def record() -> None:
    """Runs the rehearsal; `pytest` is found on PATH, so that the report names it so."""
    faults = [f"--dflash-fault={name}" for name in FAULTS]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(  # noqa: S603 - our own command
        ["pytest", "--host=rehearsal", "suites/", *faults],  # noqa: S607 - the one beside this interpreter
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        check=False,
    )
    if ran.returncode != 1:
        raise SystemExit(f"the rehearsal was to be rejected (1), and ended with {ran.returncode}")
    text = (ROOT / "reports" / "latest" / "findings.json").read_text("utf-8")
    own = STAND_IN.sub("", text).replace(f"{ROOT}/", "")
    SAMPLE.write_text(
        json.dumps(json.loads(own), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
    )


def photograph() -> None:
    """The top of the page as a window shows it, light."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(word)
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as page:
        page.write(sample())
        page.flush()
        browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            browser.get(f"file://{page.name}")
            taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
        finally:
            browser.quit()
    PICTURE.write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    if "--picture" not in sys.argv[1:]:
        record()
    photograph()
