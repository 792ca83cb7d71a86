"""Which lines of a log explain an end; the texts are those of real logs, shortened."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.journal import Entry
from pytest_dflash.lifecycle.explaining import MOST, explaining


def said(*messages: str, pid: int = 10, priority: int = 6) -> list[Entry]:
    return [Entry(0, 0, pid, priority, message) for message in messages]


def manager(*messages: str) -> list[Entry]:
    return [Entry(0, 0, 1, 5, message, from_manager=True) for message in messages]


def told(*entries: list[Entry]) -> list[str]:
    return [entry.message for entry in explaining([each for part in entries for each in part])]


EXITED = "engine.service: Main process exited, code=exited, status=2/INVALIDARGUMENT"
FAILED = "engine.service: Failed with result 'exit-code'."


def test_of_an_argument_parsers_usage_only_the_error_is_left() -> None:
    usage = ["usage: sglang serve [-h] --model-path MODEL_PATH"] + ["  [--log-level ERROR_LEVEL]"] * 50
    error = "sglang serve: error: unrecognized arguments: --speculative-dflash-draft-window-size 32"
    assert told(
        manager("Started engine.service - SGLang."),
        said(*usage, error),
        manager(EXITED, FAILED, "engine.service: Scheduled restart job, restart counter is at 2."),
    ) == [error, EXITED, FAILED]


def test_of_a_traceback_only_its_last_line_is_left() -> None:
    trace = [
        "Traceback (most recent call last):",
        '  File "/opt/sglang/weight_utils.py", line 1354, in _load_file',
        '    with safetensors.safe_open(file, framework="pt") as f:',
        "         ^^^^^^^^^^^^^^^^^",
        "FileNotFoundError: No such file or directory: /srv/models/target/model.safetensors",
    ]
    assert told(said("Loading weights", *trace), said("bye")) == [trace[-1]]
    assert told(said("\n".join(trace))) == [trace[-1]]


def test_tracebacks_of_two_processes_in_between_each_other_are_told_apart() -> None:
    head = "Traceback (most recent call last):"
    one, two = said(head, "  File a", "KeyError: 'a'", pid=1), said(head, "  File b", "Killed", pid=2)
    assert told([one[0]], [two[0]], [one[1]], [two[1]], [one[2]], [two[2]]) == ["KeyError: 'a'", "Killed"]


def test_what_eight_ranks_say_is_told_once_with_how_often() -> None:
    lines = [
        f"[2026-11-29 16:31:0{rank} TP{rank}] torch.OutOfMemoryError: CUDA out of memory" for rank in range(8)
    ]
    assert told(said(*lines)) == [f"{lines[0]} (8 times)"]


def test_pid_1_is_heard_about_ends_and_not_about_beginnings() -> None:
    words = [
        "engine.service: Failed at step EXEC spawning /opt/engine: No such file or directory",
        "engine.service: A process of this unit has been killed by the OOM killer.",
        "engine.service: Watchdog timeout (limit 1min)!",
        "engine.service: Start request repeated too quickly.",
    ]
    assert told(manager("Started engine.service.", *words, "Stopped engine.service.")) == words


def test_errors_by_priority_count_whatever_they_say() -> None:
    assert told(said("all is well"), said("Segmentation fault", priority=3)) == ["Segmentation fault"]


def test_an_error_that_is_ignored_explains_nothing() -> None:
    assert told(
        said("Ignore import error when loading models.x: no module", "RuntimeError: NCCL failed")
    ) == ["RuntimeError: NCCL failed"]


def test_where_nothing_explains_the_last_lines_are_shown() -> None:
    assert told(said("one", "two", "three", "four")) == ["two", "three", "four"]
    assert told() == []


def test_of_many_complaints_the_first_and_the_newest_are_left() -> None:
    errors = [f"ValueError: number {number}" for number in range(50)]
    assert told(said(*errors)) == [errors[0], *errors[-(MOST - 1) :]]


ENTRIES = st.builds(
    Entry,
    st.integers(0, 9),
    st.none(),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, 3, 6]),
    st.one_of(st.text(), st.sampled_from(["Traceback (most recent call last):", " x", "E: y", "error:"])),
    st.booleans(),
)


@given(st.lists(ENTRIES, max_size=40))
def test_any_log_is_explained_in_a_few_lines(entries: list[Entry]) -> None:
    assert len(explaining(entries)) <= MOST
    assert bool(explaining(entries)) == bool(entries)
