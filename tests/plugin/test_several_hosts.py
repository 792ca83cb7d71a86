"""A host that could not be put back ends the run: no other host is touched after it."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import HOST, Project

OTHER = "10.1.2.201"
BROKEN = (
    "engine.service could not be put back: it does not serve. By hand: `systemctl restart engine.service`"
)
CHECKS = f"""
from pathlib import Path

class Broken:
    changed, restored, broken, notes = True, None, "", []

    def beat(self):
        pass

    def close(self):
        self.restored, self.broken = False, {BROKEN!r}

@check("lifecycle.restarts", level="restart")
def test_one(host_run):
    with Path("touched").open("a") as touched:
        touched.write(host_run.name + "\\n")
    if host_run.name == {HOST!r}:
        host_run.__dict__["controller"] = Broken()
    return passed("it is so", expected=1, observed=1)

@check("lifecycle.stays_up", level="restart")
def test_another(host_run):
    return passed("it is so", expected=1, observed=1)
"""


@pytest.mark.parametrize("way", [(), ("-p", "no:randomly", "--maxfail=9")], ids=["plain", "maxfail"])
def test_the_first_host_that_is_not_put_back_is_the_last_one_touched(
    project: Project, way: tuple[str, ...]
) -> None:
    project.checks(CHECKS)
    run = project.run("--dflash-allow=restart", *way, host=f"{HOST},{OTHER}")
    assert run.code == 12, run.out
    assert (project.path / "touched").read_text().split() == [HOST]
    assert f"NOT PUT BACK: {BROKEN}" in run.out
    first, second = run.document["hosts"][0], [f for f in run.document["findings"] if f["host"] == OTHER]
    assert (first["name"], first["changed"], first["restored"]) == (HOST, True, False)
    assert [(each["outcome"], each["summary"]) for each in second] == [
        ("unproven", f"{OTHER} was not touched, as {HOST} could not be put back")
    ]
    assert run.document["run"]["complete"] is False


def test_hosts_that_are_put_back_are_all_visited(project: Project) -> None:
    project.checks(CHECKS.replace("self.restored, self.broken = False,", "self.restored, _ = True,"))
    run = project.run("--dflash-allow=restart", host=f"{HOST},{OTHER}")
    assert run.code == 0, run.out
    assert (project.path / "touched").read_text().split() == [HOST, OTHER]


@pytest.mark.slow
def test_a_worker_whose_host_is_not_put_back_ends_the_run_of_all(project: Project) -> None:
    project.checks(CHECKS)
    run = project.run("--dflash-allow=restart", "-n2", host=f"{HOST},{OTHER}", apart=True)
    assert run.code == 12, run.out
    assert f"NOT PUT BACK: {BROKEN}" in run.out + str(run.document["hosts"])


def test_a_run_without_any_check_that_leaves_a_host_changed_says_so(project: Project) -> None:
    project.checks(
        CHECKS.partition("@check")[0]
        + """
def test_of_somebody(host_run):
    host_run.__dict__["controller"] = Broken()
"""
    )
    run = project.run(host=HOST)
    assert run.code == 12, run.out
    assert f"NOT PUT BACK: {BROKEN}" in run.out
