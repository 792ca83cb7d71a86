"""When the log says something, when its silence means something, and when it does not."""

from __future__ import annotations

import pytest

from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.reading import Absent, Silent, Value

SGLANG = dialect("sglang")
ARGS = "server_args=ServerArgs(tp_size=8, speculative_draft_window_size=2048)"
RUNNER = "Initialized DFLASH draft runner. block_size=8, draft_window_size=2048"
READY = "The server is fired up and ready to roll!"


def journal(*lines: str, reaches_start: bool = True, whole: bool = True) -> Journal:
    entries = tuple(Entry(n, n, 4121, 6, line) for n, line in enumerate(lines))
    return Journal("1f2e", entries, reaches_start=reaches_start, whole=whole)


def test_the_last_start_of_the_invocation_counts() -> None:
    found = SGLANG.args_log(journal("server_args={'tp_size': 4}", RUNNER, ARGS))
    assert isinstance(found, Value)
    assert found.value.values["tp-size"] == 8
    assert found.where == "server_args= of pid 4121"
    assert isinstance(SGLANG.draft_runner(journal("server_args={'tp_size': 4}", RUNNER, ARGS)), Silent)
    assert SGLANG.ready_line(journal(READY, ARGS)) is None


def test_a_value_is_heard_also_in_a_log_with_gaps() -> None:
    assert isinstance(SGLANG.args_log(journal(ARGS, reaches_start=False, whole=False)), Value)
    assert isinstance(SGLANG.draft_runner(journal(RUNNER, reaches_start=False, whole=False)), Value)


@pytest.mark.parametrize(
    "log, why",
    [
        (journal(), "no line of this invocation could be read"),
        (journal(READY, reaches_start=False), "the log no longer reaches back to this start"),
        (journal(READY, whole=False), "the middle of the log was left out"),
        (journal("Load weight begin.", ""), "a line of the log was read without its text"),
        (journal("INFO: x"), "the engine has not printed its settings yet, or its log level hides them"),
        (
            journal(f"<a logger's own prefix> {READY}"),
            "the engine has not printed its settings yet, or its log level hides them",
        ),
        (journal("server_args={broken", READY), "the server_args line cannot be read"),
    ],
)
def test_silence_that_proves_nothing_is_silent(log: Journal, why: str) -> None:
    found = SGLANG.args_log(log)
    assert isinstance(found, Silent)
    assert found.why == why


def test_no_settings_line_before_weights_are_loaded_is_absent() -> None:
    assert SGLANG.args_log(journal("Load weight begin. avail mem=1 GB")) == Absent("log of invocation 1f2e")


def test_no_runner_after_a_whole_start_is_absent_and_before_it_is_silent() -> None:
    assert SGLANG.draft_runner(journal(ARGS, READY)) == Absent("log of invocation 1f2e")
    for log in (journal(ARGS), journal(READY), journal(ARGS, READY, whole=False), journal()):
        assert isinstance(SGLANG.draft_runner(log), Silent)


def test_what_pid_1_says_is_not_the_engine() -> None:
    said = Entry(1, 1, 1, 6, ARGS, from_manager=True)
    assert isinstance(SGLANG.args_log(Journal("1f2e", (said,), reaches_start=True, whole=True)), Silent)


def test_a_prompt_in_the_log_is_not_the_engine() -> None:
    found = SGLANG.args_log(journal(ARGS, "Receive: obj=X(text='server_args={\\'tp_size\\': 1}')"))
    assert isinstance(found, Value)
    assert found.value.values["tp-size"] == 8


def test_replicas_that_differ_show_the_odd_one_out() -> None:
    odd = (
        "[2026-05-31 18:31:20 DP1 TP0] Initialized DFLASH draft runner. block_size=8, draft_window_size=None"
    )
    same = [f"[2026-05-31 18:31:20 DP{n} TP0] {RUNNER}" for n in (0, 2)]
    found = SGLANG.draft_runner(journal(ARGS, same[0], odd, same[1]))
    assert isinstance(found, Value)
    assert found.value.values["speculative-draft-window-size"] is None
    assert (
        found.where
        == "Initialized DFLASH draft runner [DP0 TP0] (draft_window_size differs on DP1 TP0)".replace(
            "draft_window_size", "speculative-draft-window-size"
        )
    )


def test_a_block_is_not_the_number_of_draft_tokens_under_a_tree() -> None:
    found = SGLANG.draft_runner(
        journal(ARGS, RUNNER, "Initialized DDTree worker. block_size=8, tree_budget=31")
    )
    assert isinstance(found, Value)
    assert found.value.values == {
        "block-size": 8,
        "speculative-draft-window-size": 2048,
        "speculative-ddtree-budget": 31,
    }


def test_the_settled_pool_is_silent_until_the_scheduler_says_it() -> None:
    assert SGLANG.effective(journal(ARGS)) == Silent("the scheduler has not said yet what it settled on")


@pytest.mark.parametrize(
    "setting, algorithm, last",
    [
        ("speculative-draft-window-size", "DFLASH", "draft_runner_log"),
        ("speculative-draft-window-size", None, "draft_runner_log"),
        ("speculative-draft-window-size", "DDTREE", "draft_runner_log"),
        ("speculative-draft-window-size", "eagle3", "server_info"),
        ("speculative-draft-window-size", "DSPARK", "server_info"),
        ("speculative-draft-attention-backend", "DSPARK", "draft_runner_log"),
        ("speculative-num-draft-tokens", "DFLASH", "draft_runner_log"),
        ("speculative-num-draft-tokens", "DDTREE", "server_info"),
        ("tp-size", "DFLASH", "server_info"),
    ],
)
def test_the_runner_carries_what_its_line_says(setting: str, algorithm: str | None, last: str) -> None:
    found = SGLANG.carriers(setting, {"speculative-algorithm": algorithm})
    assert found[:4] == ("unit_file", "loaded_unit", "process_argv", "server_args_log")
    assert found[-1] == last
