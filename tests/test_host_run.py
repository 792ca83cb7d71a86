"""The composition root: what it makes of facts that are not of one moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.named_files import named_files
from pytest_dflash.facts.procfs import PROCESSES, Process
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.target import parse_spec
from pytest_dflash.facts.transcript import Transcript
from pytest_dflash.host_run import HostRun
from pytest_dflash.levels import Allowed
from pytest_dflash.lifecycle.phase import Observation, Phase
from pytest_dflash.lifecycle.readiness import Settled
from pytest_dflash.profile.loader import load
from pytest_dflash.reach import Reach

ARGV = ("python", "-m", "sglang.launch_server", "--tp-size", "8")


def run_with(torn: str, tmp_path: Path) -> HostRun:
    """A run whose facts are there already, so that nothing is asked."""
    profile = tmp_path / "dflash.toml"
    profile.write_text('[service]\nunit = "a.service"\nengine = "sglang"\n')
    process = Process(7, 1, ARGV, Absent(), Value({}), 1, 0, "/system.slice/a.service", {})
    identity = Value(Identity("b", "i", 7, 0, 1))
    transcript = Transcript({PROCESSES.name: Value((process,))}, identity, identity, torn=torn)
    facts = Facts(transcript, lambda argv: argv == ARGV, lambda _argv: 30000, named_files((), ()))
    run = HostRun("h", Reach(parse_spec("h"), {}), load(profile), Allowed(("read",)), 1.0)
    run.__dict__["_settled"] = (facts, Settled(Phase.CRASH_LOOP, Observation(), 0.0, "restarts"))
    run.__dict__["info"] = Silent("not asked")
    return run


def test_facts_of_one_moment_are_followed(tmp_path: Path) -> None:
    heard = run_with("", tmp_path).chain.heard["process_argv"]
    assert isinstance(heard, Value)
    assert heard.value.values == {"tp-size": 8}


def test_facts_of_several_processes_prove_nothing_about_one(tmp_path: Path) -> None:
    heard = run_with("the unit was started anew", tmp_path).chain.heard["process_argv"]
    assert isinstance(heard, Silent)
    assert "the process moved while it was read: the unit was started anew" in heard.why


@pytest.mark.parametrize(
    "words, port",
    [
        ((), 30000),
        (("--port", "31000"), 31000),
        (("--port", "²"), 30000),
        (("--port",), 30000),
        (("--port", "-1"), 30000),
    ],
)
def test_a_port_that_is_none_is_the_engines_own(words: tuple[str, ...], port: int, tmp_path: Path) -> None:
    assert run_with("", tmp_path)._port((*ARGV, *words)) == port


def test_a_port_that_stands_in_a_file_of_the_command_line_is_the_engines(tmp_path: Path) -> None:
    run = run_with("", tmp_path)
    run.texts = {"/etc/engine.yaml": "port: 31555\ntp-size: 8\n"}
    assert run._port((*ARGV, "--config", "/etc/engine.yaml")) == 31555
