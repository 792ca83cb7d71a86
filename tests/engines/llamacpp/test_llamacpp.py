"""What llama.cpp says on its command line, in its log and on its routes, recorded from a build of October 2026."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.dialect import Decode, Load
from pytest_dflash.engines.llamacpp.scoring import LlamaCppScoring
from pytest_dflash.engines.registry import dialect, recognise
from pytest_dflash.engines.scoring import Bounds, Drafting, Order, Spoken
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

CASES = Path(__file__).parent / "cases"
LLAMACPP = dialect("llamacpp")
SCORING = LlamaCppScoring()


def of(*lines: str, reaches_start: bool = True) -> Journal:
    entries = tuple(Entry(n, n, 4121, 6, line) for n, line in enumerate(lines))
    return Journal("1f2e", entries, reaches_start=reaches_start, whole=True)


def recorded() -> Journal:
    return of(*(CASES / "draft-dflash.txt").read_text().splitlines())


def document(name: str) -> Any:
    return json.loads((CASES / name).read_text())


def values(reading: Reading[Any]) -> dict[str, Any]:
    assert isinstance(reading, Value), reading
    return dict(reading.value.values)


def asked(line: str) -> dict[str, Json]:
    return dict(LLAMACPP.from_argv(shlex.split(line), {}, None).values)


# ---- the command line


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/llama-server -m t.gguf",
        "/opt/venv/bin/python3.11 /opt/llama-server -m t.gguf",
        "/usr/bin/numactl -N 0 llama-server -m t.gguf",
        "/bin/bash -lc 'cd /srv && exec ./llama-server -m t.gguf'",
    ],
)
def test_a_server_is_recognised(line: str) -> None:
    assert recognise(shlex.split(line)) is LLAMACPP


@pytest.mark.parametrize(
    "line", ["/usr/bin/llama-cli -m t.gguf", "python -m http.server", "tail -f llama-server"]
)
def test_what_is_no_server_is_not_recognised(line: str) -> None:
    assert not LLAMACPP.runs(shlex.split(line))


@pytest.mark.parametrize("flag", ["-hfd", "-hfrd", "--hf-repo-draft"])
def test_spellings_of_the_drafters_repository_are_one_setting(flag: str) -> None:
    assert asked(f"llama-server -m t.gguf {flag} x/y:Q4")["spec-draft-hf"] == "x/y:Q4"


@pytest.mark.parametrize(
    "setting, wanted, found, legal",
    [
        ("parallel", -1, 4, True),
        ("parallel", None, 4, True),
        ("parallel", 2, 4, False),
        ("alias", "kimi,kimi2", "kimi2", True),
        ("alias", "kimi,kimi2", "other", False),
    ],
)
def test_what_the_server_chooses_itself_is_a_legal_rewrite(
    setting: str,
    wanted: Json,
    found: Json,
    legal: bool,  # noqa: FBT001 - parametrized
) -> None:
    assert LLAMACPP.is_rewrite(setting, wanted, found, {}) is legal


def test_several_kinds_of_speculation_are_read_together_and_in_any_order() -> None:
    added = "adding speculative implementation '{}'"
    journal = of(*(added.format(kind) for kind in ("ngram-simple", "draft-dflash", "ngram-simple")))
    (kinds,) = values(LLAMACPP.draft_runner(journal)).values()
    assert kinds == "ngram-simple,draft-dflash"
    assert LLAMACPP.same("spec-type", "draft-dflash,ngram-simple", kinds)
    assert not LLAMACPP.same("spec-type", "draft-dflash,ngram-simple", "draft-dflash")


def test_short_and_old_spellings_are_the_same_settings() -> None:
    line = "llama-server -m t.gguf -c 4096 -np 4 -md d.gguf --draft-max 7 --spec-type draft-dflash -ngl -1"
    assert asked(line) == {
        "model": "t.gguf", "ctx-size": 4096, "parallel": 4, "spec-draft-model": "d.gguf", "spec-draft-n-max": 7,
        "spec-type": "draft-dflash", "n-gpu-layers": -1,
    }  # fmt: skip
    found = LLAMACPP.from_argv(shlex.split(line), {}, None)
    assert found.spelled["spec-draft-n-max"] == "draft-max"
    assert "spec-type" not in found.spelled


def test_switches_are_on_or_off() -> None:
    assert asked("llama-server --metrics --no-cache-prompt --flash-attn on -kvu") == {
        "metrics": True, "cache-prompt": False, "flash-attn": "on", "kv-unified": True,
    }  # fmt: skip


def test_a_later_flag_wins() -> None:
    assert asked("llama-server --draft-max 7 --spec-draft-n-max 3") == {"spec-draft-n-max": 3}


def test_a_line_in_which_a_shell_puts_variables_is_not_complete() -> None:
    found = LLAMACPP.from_argv(["bash", "-c", "llama-server -m t.gguf $MORE"], {}, None)
    assert not found.complete


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_words_are_read(words: list[str]) -> None:
    LLAMACPP.from_argv(["llama-server", *words], {}, None)
    LLAMACPP.runs(words)


# ---- the log


def test_the_drafter_tells_its_kind_and_its_limits() -> None:
    assert values(LLAMACPP.draft_runner(recorded())) == {
        "spec-type": "draft-dflash", "spec-draft-n-max": 7, "spec-draft-n-min": 0, "spec-draft-p-min": "0.00",
    }  # fmt: skip


def test_a_probability_is_the_one_that_was_printed_with_two_digits() -> None:
    assert LLAMACPP.same("spec-draft-p-min", 0, "0.00")
    assert LLAMACPP.is_rewrite("spec-draft-p-min", 0.755, "0.76", {})
    assert not LLAMACPP.is_rewrite("spec-draft-p-min", 0.7, "0.76", {})
    assert not LLAMACPP.is_rewrite("spec-draft-n-max", 7, 3, {})


def test_a_start_without_a_drafter_built_none() -> None:
    plain = [each.message for each in recorded().entries if "speculative" not in each.message]
    assert LLAMACPP.draft_runner(of(*plain)) == Absent("log of the drafter")
    assert isinstance(LLAMACPP.draft_runner(of(*plain, reaches_start=False)), Silent)
    assert isinstance(LLAMACPP.draft_runner(of(plain[0])), Silent)


def test_a_start_is_told_by_its_newest_line() -> None:
    lines = [each.message for each in recorded().entries]
    assert str(LLAMACPP.ready_line(recorded())).endswith("listening on http://127.0.0.1:8080")
    at = {line.split(": ", 1)[-1][:20]: n for n, line in enumerate(lines)}
    assert LLAMACPP.progress(of(*lines[: at["loading draft model "[:20]] + 1])) == "loading the drafter"
    assert LLAMACPP.progress(of(*lines[: at["model loaded"] + 1])) == "opening the port"
    assert LLAMACPP.progress(of(*lines)) == "start-up is over"
    assert LLAMACPP.progress(of()) == ""
    assert LLAMACPP.ready_line(of(*lines[:5])) is None


def test_its_slots_are_what_it_settled_on() -> None:
    assert values(LLAMACPP.effective(recorded())) == {"parallel": 4}


def test_each_answer_tells_its_speed_and_its_accept_length() -> None:
    first = LLAMACPP.decode_lines(recorded())[0]
    assert first == Decode(first.at_us, "", 1, None, 1.18, 0.02521, None, 142.86)


@given(st.lists(st.text(max_size=80), max_size=6))
def test_any_log_is_read(lines: list[str]) -> None:
    dirty = of(
        *lines, "common_speculative_impl_draft_dflash: - n_max=9e999, n_min=\x00, p_min", "n_slots = 4" * 500
    )
    for read in (
        LLAMACPP.draft_runner,
        LLAMACPP.effective,
        LLAMACPP.decode_lines,
        LLAMACPP.ready_line,
        LLAMACPP.progress,
    ):
        read(dirty)


# ---- the routes


def test_props_tell_names_slots_and_the_context_of_one_slot() -> None:
    told = document("props.json")
    found = values(LLAMACPP.from_info(told))
    assert found == {
        "alias": "tiny", "model": "/opt/llamacpp/models/target.gguf", "parallel": 4, "ctx-size-of-a-slot": 1024,
    }  # fmt: skip
    assert LLAMACPP.version(told) == "b0-unknown"
    assert SCORING.bounds(found | {"ubatch-size": 256}) == Bounds(context=1024, chunk=256)
    assert isinstance(LLAMACPP.from_info({}), Silent)


def test_counters_tell_drafts_their_depths_and_requests() -> None:
    text = (CASES / "metrics.txt").read_text()
    found = SCORING.counters(text)
    assert isinstance(found, Value)
    assert found.value == Drafting(26 + 17, 26, {0: 7, 1: 3, 2: 2, 3: 2, 4: 2, 5: 1, 6: 0})
    assert LLAMACPP.load("/metrics", text) == Value(Load(0, 0), "/metrics")
    assert LLAMACPP.load("/metrics", "") == Silent(
        "llamacpp:requests_processing is not among the counters (--metrics)", "/metrics"
    )


def test_without_counters_the_slots_tell_who_is_busy() -> None:
    assert LLAMACPP.load("/slots", '[{"is_processing": true}, {"is_processing": false}]') == Value(
        Load(1, 0), "/slots"
    )
    assert LLAMACPP.load("/slots", '{"error": {"code": 501}}') == Silent("it tells no slots", "/slots")


@given(st.text())
def test_any_text_of_a_route_is_read(text: str) -> None:
    for path in LLAMACPP.load_paths():
        LLAMACPP.load(path, text)
    SCORING.counters(text + '\nllamacpp:spec_decode_num_drafts_total inf\nllamacpp:requests_processing "')


# ---- tokens


def test_tokens_are_asked_for_by_ids_and_with_neutral_sampling() -> None:
    ask = SCORING.generate(Order(prompt=(5, 6), max_tokens=9, seed=3, schema={"type": "object"}), "tiny")
    assert ask.path == "/completion"
    assert ask.body["prompt"] == [5, 6]
    assert (ask.body["n_predict"], ask.body["seed"], ask.body["json_schema"]) == (9, 3, {"type": "object"})
    assert (ask.body["top_k"], ask.body["min_p"], ask.body["cache_prompt"]) == (0, 0.0, True)


def test_a_prefill_takes_nothing_from_a_cache_into_which_drafts_were_written() -> None:
    assert SCORING.generate(Order(prompt=(5, 6), max_tokens=1), "tiny").body["cache_prompt"] is False


def test_an_answer_is_read_with_its_tokens() -> None:
    found = SCORING.spoken(document("completion.json"))
    assert isinstance(found, Value)
    assert found.value.tokens is not None
    assert len(found.value.tokens) == 24
    assert found.value == Spoken(
        tokens=found.value.tokens, text=found.value.text, finish="length", prompt_tokens=4, completion_tokens=24,
        cached_tokens=0,
    )  # fmt: skip
    assert SCORING.spoken({"error": {"code": 400}}) == Silent("the answer has no content", "POST /completion")


def test_it_scores_nothing_and_says_why() -> None:
    assert SCORING.score((1, 2, 3), 1, "tiny") is None
    assert SCORING.withheld(None, {}) == (
        "llama.cpp tells the logprobs of tokens that it generates, and none of tokens that are handed to it"
    )
