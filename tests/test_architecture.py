"""Who may act on the world: the modules that ARCHITECTURE.md names, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pytest_dflash"
ACTING = {
    *("socket", "subprocess", "threading", "asyncio", "time", "urllib.request"),
    *("testinfra", "openai", "httpx", "httpx2", "tenacity", "uvloop"),
}
AGENTS = {
    "facts/execution.py",  # runs local processes
    "facts/shell.py",  # deadlines of commands over there, testinfra's host
    "facts/ssh_connection.py",  # tunnels, private folder
    "facts/inventory.py",  # asks ansible-inventory, through testinfra
    "facts/collector.py",  # waits between torn readings
    "lifecycle/readiness.py",  # waits
    "lifecycle/traffic.py",  # runs the profile's drain and undrain, waits
    "lifecycle/controller.py",  # restarts, changes, puts back
    "lifecycle/hold.py",  # locks, renews
    "lifecycle/patience.py",  # hears signals, in the main thread
    "endpoint/client.py",  # asks the service
    "endpoint/deadline.py",  # shuts a connection whose time is over
    "endpoint/speaking.py",  # measures how long asking took
    "endpoint/service.py",  # tries whether a port accepts
    "load/transport.py",  # writes requests, stamps what comes
    "load/wave.py",  # one closed loop
    "load/runner.py",  # waves, one after the other
    "load/self_test.py",  # starts the truth server
    "load/watching.py",  # looks at host and engine beside a load
    "activation.py",  # seconds on the terminal
    "triage.py",  # has ten seconds
}


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, f"{node.module}.{node.names[0].name}"}
    return {each for name in found for each in (name, name.partition(".")[0])}


def modules() -> list[str]:
    return sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize(
    "module", [m for m in modules() if not m.startswith("rehearsal/") and m not in AGENTS]
)
def test_only_agents_import_what_acts_on_the_world(module: str) -> None:
    assert imported(PACKAGE / module) & ACTING == set()


def test_every_agent_is_there_and_acts() -> None:
    for agent in AGENTS:
        assert imported(PACKAGE / agent) & ACTING, f"{agent} acts no more: take it off the list"


@pytest.mark.parametrize("module", [m for m in modules() if not m.endswith("__init__.py")])
def test_a_module_opens_with_its_law(module: str) -> None:
    docstring = ast.get_docstring(ast.parse((PACKAGE / module).read_text())) or ""
    assert "Law:" in docstring, f"{module} does not say what may live there"


@pytest.mark.parametrize("module", modules())
def test_a_module_is_one_noun_and_not_two(module: str) -> None:
    lines = (PACKAGE / module).read_text().count("\n")
    assert lines <= 420, f"{module} has {lines} lines"
