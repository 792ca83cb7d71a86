"""The worked example of docs/engines.md, run; and engines that other packages bring."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_dflash.engines import registry
from pytest_dflash.engines.dialect import Dialect
from pytest_dflash.errors import UsageError
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.profile.loader import load

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


def example() -> type[Any]:
    """The class of the page."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return cast("type[Any]", names["Transformers"])


def members(of: object) -> set[str]:
    """What the seam asks for."""
    return {name for name in {*vars(of), *getattr(of, "__annotations__", {})} if not name.startswith("_")}


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Entry points by name; each value is what loading it gives, or the error."""
    given: dict[str, Any] = {}

    def load(self: EntryPoint) -> Any:
        if isinstance(given[self.name], Exception):
            raise given[self.name]
        return given[self.name]

    monkeypatch.setattr(EntryPoint, "load", load)
    monkeypatch.setattr(
        registry,
        "entry_points",
        lambda group: [EntryPoint(name, "its.module:Engine", group) for name in given],
    )
    registry.dialects.cache_clear()
    yield given
    registry.dialects.cache_clear()


def test_an_engine_of_another_package_is_found_by_name_and_by_command_line(brought: dict[str, Any]) -> None:
    brought["transformers"] = example()
    engine = registry.dialect("transformers")
    assert engine.name == "transformers"
    line = [
        "/opt/venv/bin/python",
        "/opt/venv/bin/transformers",
        "serve",
        "M",
        "--device",
        "cpu",
        "--port",
        "8001",
    ]
    assert registry.recognise(line) is engine
    assert engine.from_argv(line, {}, None).values == {"model": "M", "device": "cpu", "port": 8001}


def test_an_engine_that_cannot_be_loaded_is_refused_with_its_name(brought: dict[str, Any]) -> None:
    brought["broken"] = ImportError("no module named its")
    with pytest.raises(
        UsageError, match=r"the engine 'broken' of its.module:Engine cannot be loaded: ImportError: no"
    ):
        registry.dialect("sglang")


def test_a_name_that_is_taken_is_refused(brought: dict[str, Any]) -> None:
    brought["vllm"] = example()
    with pytest.raises(UsageError, match=r"two engines are named 'vllm', one of them by its.module:Engine"):
        registry.dialect("sglang")


@pytest.mark.parametrize("engine", [*registry.OWN.values(), example()()], ids=lambda engine: engine.name)
def test_every_engine_has_all_that_the_seam_asks_for(engine: Any) -> None:
    assert {name for name in members(Dialect) if not hasattr(engine, name)} == set()


def test_the_example_reads_its_log() -> None:
    lines = ("INFO:     Started server process [31]", "INFO:     Application startup complete.")
    log = Journal(
        "1f", tuple(Entry(n, n, 1, 6, line) for n, line in enumerate(lines)), reaches_start=True, whole=True
    )
    engine = example()()
    assert engine.ready_line(log) == lines[1]
    assert engine.progress(log) == "starting"


@pytest.mark.parametrize("engine", registry.OWN.values(), ids=lambda engine: engine.name)
def test_no_module_outside_asks_which_engine_it_is(engine: Dialect) -> None:
    package = Path(registry.__file__).parents[1]
    asking = re.compile(rf"""(?:==|!=|in \{{?)\s*["']{engine.name}["']""")
    found = [
        path
        for path in package.rglob("*.py")
        if not {"engines", "rehearsal"} & set(path.relative_to(package).parts)
        and asking.search(path.read_text())
    ]
    assert found == []


def test_the_profile_of_the_page_is_read_as_it_stands(tmp_path: Path) -> None:
    first, *_ = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "vllm.toml").write_text(first, encoding="utf-8")
    profile = load(tmp_path / "vllm.toml").profile
    assert profile.service.engine == "vllm"
    assert profile.flags["speculative-config.num_speculative_tokens"] == 7
    assert (profile.window.tokens, profile.window.via) == (2048, "native")
    assert profile.exposure.key_required is True


def test_the_profile_of_a_llamacpp_host_on_the_page_is_read_as_it_stands(tmp_path: Path) -> None:
    _, second, *_ = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "llamacpp.toml").write_text(second, encoding="utf-8")
    profile = load(tmp_path / "llamacpp.toml").profile
    assert profile.service.engine == "llamacpp"
    assert profile.flags["spec-draft-n-max"] == 7
