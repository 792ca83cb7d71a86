"""What the engine says about settings, and whether it should alarm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.journal import Entry, Journal

SGLANG = dialect("sglang")


def journal(*lines: str) -> Journal:
    entries = tuple(Entry(n, n, 4121, 6, line) for n, line in enumerate(lines))
    return Journal("1f2e", entries, reaches_start=True, whole=True)


@pytest.mark.parametrize(
    "line, kind, setting, alarming",
    [
        (
            "--speculative-draft-window-size has no effect with speculative_algorithm=DDTREE (honored by DFLASH)",
            "ignored",
            "speculative-draft-window-size",
            True,
        ),
        (
            "Ignoring --speculative-draft-window-size=2048: this draft model has a native window.",
            "ignored",
            "speculative-draft-window-size",
            True,
        ),
        (
            (
                "'--speculative-dflash-draft-window-size' is deprecated and will be removed in a future release. "
                "Use '--speculative-draft-window-size' instead."
            ),
            "deprecated",
            "speculative-draft-window-size",
            False,
        ),
        (
            "sglang serve: error: unrecognized arguments: --speculative-dflash-draft-window-size 32",
            "removed",
            "speculative-draft-window-size",
            True,
        ),
        ("serve: error: unrecognized arguments: --a-fork-knows-this 7", "removed", None, True),
        ("SGLANG_ENABLE_SPEC_V2 has been removed", "removed", None, True),
        (
            (
                "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly "
                "setting --max-running-requests."
            ),
            "resolved",
            "max-running-requests",
            False,
        ),
        (
            "DFLASH only supports speculative_num_steps == 1; overriding speculative_num_steps=5 to 1.",
            "resolved",
            "speculative-num-steps",
            False,
        ),
        (
            "DFLASH block size mismatch: using speculative_num_draft_tokens=16 but draft config block_size=8.",
            "replaced",
            "speculative-num-draft-tokens",
            True,
        ),
        (
            "Failed to infer DFLASH block_size from draft model config; defaulting speculative_num_draft_tokens to 16.",
            "replaced",
            "speculative-num-draft-tokens",
            True,
        ),
        (
            "DFLASH draft worker does not support attention_backend 'trtllm_mla' on cuda. Falling back to 'flashinfer'.",
            "fallback",
            "speculative-draft-attention-backend",
            False,
        ),
        (
            "DFLASH non-greedy verification is unavailable on this build/device; falling back to greedy argmax verification.",
            "replaced",
            None,
            True,
        ),
        (
            "Overlap scheduler is disabled when using DFLASH speculative decoding (spec v2 is not supported yet).",
            "resolved",
            "disable-overlap-schedule",
            False,
        ),
        (
            (
                "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this "
                "warning, specify disable_custom_all_reduce=True explicitly."
            ),
            "resolved",
            "disable-custom-all-reduce",
            False,
        ),
        ("speculative_adaptive disabled: topk is not 1", "replaced", "speculative-adaptive", True),
    ],
)
def test_a_line_about_a_setting_is_understood(
    line: str, kind: str, setting: str | None, *, alarming: bool
) -> None:
    (found,) = SGLANG.warnings(journal(f"[2026-11-29 16:32:46] {line}"))
    assert (found.kind, found.setting, found.alarming) == (kind, setting, alarming)
    assert found.message == line
    assert found.where == "log, pid 4121"


@pytest.mark.parametrize(
    "line",
    [
        "Ignore import error when loading sglang.srt.models.grok: no attribute 'x'",
        "Receive: obj=GenerateReqInput(text='--tp-size has no effect')",
        "server_args={'tp_size': 8, 'x': 'is ignored'}",
        "Detected chat template, overriding nothing that has a name",
        "Load weight begin. avail mem=1 GB",
        "Endpoint '/get_server_info' is deprecated and will be removed in a future version.",
    ],
)
def test_other_lines_alarm_nobody(line: str) -> None:
    assert SGLANG.warnings(journal(line)) == []


def test_a_line_that_is_known_says_what_to_do_by_its_own_names() -> None:
    honoured = "DFLASH, Llama EAGLE-3, and the EAGLE/MTP/NEXTN draft-decode path on the Triton/FlashInfer draft backends"
    line = f"--speculative-draft-window-size has no effect with speculative_algorithm=DDTREE (honored by {honoured})."
    (found,) = SGLANG.warnings(journal(line))
    assert found.about == ""
    assert (
        found.cause
        == "the draft runner of DDTREE does not read --speculative-draft-window-size in this version"
    )
    assert found.remedy == (
        "Take a version in which DDTREE honours --speculative-draft-window-size, an algorithm that honours it (this one names "
        f"{honoured}), or a drafter whose config.json has the window; then restart the unit. No other flag sets it here"
    )


def test_a_window_that_gives_way_to_the_drafters_own_says_so() -> None:
    (found,) = SGLANG.warnings(
        journal(
            "Ignoring --speculative-draft-window-size=2048: this draft model has a sliding window of 4096, which the attention "
            "backend applies per layer. Draft-decode windowing stays off."
        )
    )
    assert found.cause == "the drafter's config.json has a window of its own, and it counts"
    assert found.remedy.startswith("take --speculative-draft-window-size out of the unit and restart it")


def test_what_every_rank_repeats_is_said_once() -> None:
    line = "--tp-size has no effect"
    assert len(SGLANG.warnings(journal(f"[x TP0] {line}", f"[x TP1] {line}"))) == 1


@given(st.text())
def test_any_line_is_judged_without_an_exception(text: str) -> None:
    SGLANG.warnings(journal(text, f"--{text} has no effect"))
