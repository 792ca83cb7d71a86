"""Real hosts for tests, made once per session; skipped with the sentence that enables them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.realhost import services
from tests.realhost.tree import cache, missing

REQUIRED = os.environ.get("DFLASH_REALHOST") == "required"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = os.path.dirname(__file__)  # noqa: PTH120 - compared with str paths
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.realhost)
            # One machine per host and session: its tests stay in one worker.
            item.add_marker(pytest.mark.xdist_group("realhost"))


FIGURES = pytest.StashKey[list[str]]()
"""What was measured on real hosts, shown at the end."""
CASES = pytest.StashKey[list[str]]()
"""What hosts were put back from: counted at the end, as a matrix that shrank would look the same."""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CASES], config.stash[FIGURES] = [], []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    cases = config.stash[CASES]
    if cases:
        terminalreporter.section(f"put back after {len(cases)} cases")
        for case in cases:
            terminalreporter.line(case)
    for figure in config.stash[FIGURES]:
        terminalreporter.line(figure)


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> list[str]:
    """Lines that are shown at the end of all tests."""
    return pytestconfig.stash[FIGURES]


@pytest.fixture
def put_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """A case after which the host was as before: counted when its test passed."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed == failed:
        request.config.stash[CASES].append(request.node.name.removeprefix("test_").replace("_", " "))


def _enabled(why: str | None) -> None:
    """Skips with the sentence that enables the test; where real hosts are required, fails with it."""
    if why is None:
        return
    if REQUIRED:
        pytest.fail(f"DFLASH_REALHOST=required, but {why}", pytrace=False)
    pytest.skip(why)


@pytest.fixture(scope="session")
def real_host_tools() -> None:
    """What every real host needs."""
    _enabled(missing())


@pytest.fixture(scope="session")
def mini_host(real_host_tools: None) -> Iterator[services.Service]:
    """A real host with the miniature engine, serving."""
    with services.miniature() as service:
        yield service


def _made(name: str) -> None:
    """Skips where `make engines` has not made this folder of the cache."""
    folder = cache() / name
    _enabled(
        None
        if (folder / "stamp").exists()
        else f"{folder} holds nothing that serves: run `make engines` (3.7 GB, 4 minutes)"
    )


@pytest.fixture(scope="module")  # its idle scheduler spins: it must not run beside the next module's host
def sglang_host(real_host_tools: None) -> Iterator[services.Service]:
    """A real host with a real SGLang on the CPU, serving."""
    _made("engines")
    with services.sglang() as service:
        yield service


@pytest.fixture(scope="session")  # it starts in half a minute, and idles quietly
def vllm_machine(real_host_tools: None) -> Iterator[services.Service]:
    """A real host with a real vLLM on the CPU."""
    _made("engines")
    with services.vllm() as service:
        yield service


@pytest.fixture(scope="module")
def vllm_host(vllm_machine: services.Service) -> services.Service:
    """The same, serving: a module may leave it starting."""
    vllm_machine.wait()
    return vllm_machine


@pytest.fixture(scope="session")
def llamacpp_machine(real_host_tools: None) -> Iterator[services.Service]:
    """A real host with a real llama.cpp on the CPU."""
    _made("llamacpp")
    with services.llamacpp() as service:
        yield service


@pytest.fixture(scope="module")
def llamacpp_host(llamacpp_machine: services.Service) -> services.Service:
    """The same, serving: a module may leave it starting."""
    llamacpp_machine.wait()
    return llamacpp_machine
