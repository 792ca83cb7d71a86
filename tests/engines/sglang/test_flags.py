"""The table of flags."""

from __future__ import annotations

import pytest

from pytest_dflash.engines.registry import dialect
from pytest_dflash.engines.sglang import flags
from pytest_dflash.facts.reading import Absent, Silent, Value

SGLANG = dialect("sglang")


@pytest.mark.parametrize(
    "flag, version, setting",
    [
        ("tp", None, "tp-size"),
        ("tp_size", None, "tp-size"),
        ("--tp-size", "0.5.5", "tp-size"),
        ("speculative_dflash_draft_window_size", "0.5.11", "speculative-draft-window-size"),
        ("speculative-dflash-draft-window-size", "0.5.23", "speculative-draft-window-size"),
        ("speculative-dflash-draft", "0.5.11", "speculative-draft-window-size"),
        ("speculative-draft-window-size", None, "speculative-draft-window-size"),
        ("nsa-decode-backend", None, "dsa-decode-backend"),
        ("speculative", "0.5.23", "speculative"),
        ("speculative-ddtree", None, "speculative-ddtree"),
        ("unheard-of", None, "unheard-of"),
        ("", None, ""),
    ],
)
def test_a_spelling_finds_its_setting(flag: str, version: str | None, setting: str) -> None:
    assert SGLANG.setting(flag, version) == setting


@pytest.mark.parametrize("version", ["0.5.20", "0.5.22", "0.5.23", "0.5.24.dev1"])
def test_a_removed_flag_says_which_version_took_it_away(version: str) -> None:
    assert SGLANG.removed("speculative-dflash-draft-window-size", version) == (
        "SGLang 0.5.20 took --speculative-dflash-draft-window-size away; it is "
        f"--speculative-draft-window-size now, and {version.removesuffix('.dev1')} refuses to start with it"
    )


def test_a_flag_that_is_too_new_says_from_when_on() -> None:
    assert SGLANG.removed("speculative-draft-window-size", "0.5.11") == (
        "SGLang knows --speculative-draft-window-size from 0.5.12 on, and 0.5.11 refuses to start with it"
    )


@pytest.mark.parametrize("version", ["0.5.11", "0.5.19.post1", None, "0.0.0.dev0", "?", "0.5.20+ddtree"])
def test_a_flag_that_is_there_or_cannot_be_judged_is_not_called_removed(version: str | None) -> None:
    assert SGLANG.removed("speculative-dflash-draft-window-size", version) is None
    assert SGLANG.removed("speculative-ddtree-budget", version) is None


def test_a_default_is_absent_for_a_switch_and_silent_where_the_engine_decides() -> None:
    assert isinstance(SGLANG.default("trust-remote-code"), Absent)
    assert SGLANG.default("tp-size") == Value(1, "SGLang's default")
    assert isinstance(SGLANG.default("attention-backend"), Silent)
    assert isinstance(SGLANG.default("kv-cache-dtype"), Silent)
    assert isinstance(SGLANG.default("speculative-ddtree-budget"), Silent)
    assert SGLANG.default("speculative-draft-window-size") == Value(None, "SGLang's default")


def test_the_table_is_whole() -> None:
    table = flags.table()
    assert len(table) > 600
    assert {flag.kind for flag in table.values()} == {
        "str",
        "int",
        "float",
        "switch",
        "toggle",
        "list",
        "json",
    }
    for flag in table.values():
        assert flags.kind(flag.setting)
        flags.default(flag.setting)
