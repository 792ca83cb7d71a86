from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.registry import dialect
from pytest_dflash.errors import Refused
from pytest_dflash.facts.exec_start import Command
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand, UnitFiles
from pytest_dflash.facts.unit_file import effective
from pytest_dflash.lifecycle.flagline import Changes, exec_start, loaded_command, quoted, rewritten

UNIT = "sglang.service"
SGLANG = dialect("sglang")
PYTHON = "/opt/venv/bin/python -m sglang.launch_server"
UV = "/usr/bin/uv run -m sglang.launch_server"
BASH = "/bin/bash -lc"
WINDOW = "speculative-draft-window-size"


def files(line: str, *drop_ins: str) -> UnitFiles:
    return UnitFiles(
        DiskFile(f"/etc/systemd/system/{UNIT}", f"[Service]\nExecStart={line}\n"),
        tuple(DiskFile(f"/run/systemd/system/{UNIT}.d/{n}.conf", text) for n, text in enumerate(drop_ins)),
    )


def loaded(line: str) -> Command:
    (command,) = effective(files(line), UNIT).exec_start
    return command


def changed(line: str, changes: Changes) -> str:
    return exec_start(rewritten(loaded(line), changes, SGLANG))


@pytest.mark.parametrize(
    "before,changes,after",
    [
        (f"{PYTHON} --tp-size 8 --{WINDOW} 2048", {WINDOW: 4096}, f"{PYTHON} --tp-size 8 --{WINDOW} 4096"),
        (f"{PYTHON} --{WINDOW}=2048 --tp-size 8", {WINDOW: 32}, f"{PYTHON} --tp-size 8 --{WINDOW} 32"),
        (f"{PYTHON} --tp-size 8", {WINDOW: 32}, f"{PYTHON} --tp-size 8 --{WINDOW} 32"),
        (f"{PYTHON} --{WINDOW} 2048 --tp-size 8", {WINDOW: None}, f"{PYTHON} --tp-size 8"),
        (f"{PYTHON} --trust-remote-code --tp-size 8", {"trust-remote-code": False}, f"{PYTHON} --tp-size 8"),
        (f"{PYTHON} --tp-size 8", {"trust-remote-code": True}, f"{PYTHON} --tp-size 8 --trust-remote-code"),
        (f"{PYTHON} --speculative-dflash-draft-window-size 1", {WINDOW: 2}, f"{PYTHON} --speculative-dflash-draft-window-size 2"),
        (f"{PYTHON} --port ${{PORT}} $MORE", {WINDOW: 2}, f"{PYTHON} --port ${{PORT}} $MORE --{WINDOW} 2"),
        (f"/usr/bin/numactl -N 0 {PYTHON} --tp-size 8", {"tp-size": 4}, f"/usr/bin/numactl -N 0 {PYTHON} --tp-size 4"),
        (f"/usr/bin/env A=1 {PYTHON} --tp-size 8", {"tp-size": 4}, f"/usr/bin/env A=1 {PYTHON} --tp-size 4"),
        (f"{UV} --tp-size 8", {"tp-size": 4}, f"{UV} --tp-size 4"),
        (f"{BASH} 'cd /srv && exec {PYTHON} --tp-size 8'", {"tp-size": 4}, f'{BASH} "cd /srv && exec {PYTHON} --tp-size 4"'),
        (f"-{PYTHON} --tp-size 8", {"tp-size": 4}, f"-{PYTHON} --tp-size 4"),
        (f"{PYTHON} --name 'a b' --log 50%% --tp-size 8", {"tp-size": 4}, f'{PYTHON} --name "a b" --log 50%% --tp-size 4'),
        (f"{PYTHON} --tp-size 8", {"served-model-name": "$5"}, f"{PYTHON} --tp-size 8 --served-model-name $$5"),
    ],
)  # fmt: skip
def test_a_flag_is_changed_added_or_taken_out(before: str, changes: Changes, after: str) -> None:
    assert changed(before, changes) == after


@pytest.mark.parametrize(
    "line,changes,why",
    [
        (f"/bin/bash -lc '{PYTHON} --tp-size 8 | tee log'", {"tp-size": 4}, "with `|` cannot be changed with certainty"),
        (f"/bin/bash -lc '{PYTHON} --tp-size $(nproc)'", {"tp-size": 4}, "with `$(`"),
        (f"{PYTHON} --tp-size $TP", {"tp-size": 4}, "has its value from a variable ($TP)"),
        (f"{PYTHON} --tp-size 8 $MORE", {"tp-size": None}, "$MORE may hold it too"),
        (f"{PYTHON} --tp-size 8 9", {"tp-size": 4}, "followed by several words"),
        ("/usr/bin/sleep 3", {"tp-size": 4}, "starts the engine 0 times"),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_refused_with_the_reason(line: str, changes: Changes, why: str) -> None:
    with pytest.raises(Refused) as refused:
        changed(line, changes)
    assert why in str(refused.value)


def test_the_command_of_manager_and_disk_is_taken() -> None:
    on_disk = files(f"{PYTHON} --tp-size %%", "[Service]\nEnvironment=A=1\n")
    argv = (*PYTHON.split(), "--tp-size", "%")
    assert loaded_command(on_disk, LoadedCommand((argv,), {}, ()), UNIT).argv == argv


@pytest.mark.parametrize(
    "on_disk,argvs,why",
    [
        (files(f"{PYTHON} --tp-size 8"), ((*PYTHON.split(),),), "another command than the manager holds"),
        (files(PYTHON), (), "has 0 ExecStart= commands"),
        (UnitFiles(None, unreadable=("/etc/x",)), (("a",),), "/etc/x cannot be read"),
    ],
)
def test_a_command_that_is_not_certain_is_refused(
    on_disk: UnitFiles, argvs: tuple[tuple[str, ...], ...], why: str
) -> None:
    with pytest.raises(Refused) as refused:
        loaded_command(on_disk, LoadedCommand(argvs, {}, ()), UNIT)
    assert why in str(refused.value)


WORDS = st.text(st.characters(exclude_characters="\0", codec="utf-8"))


@given(st.lists(WORDS, max_size=6), st.sampled_from(["", "-", "@", ":", "!", "-@"]))
def test_any_words_come_back_as_they_were(words: list[str], prefixes: str) -> None:
    argv = ("/bin/x", *words)
    line = exec_start(Command(argv, "", "", executable="/bin/x", prefixes=prefixes))
    assert "\n" not in line
    (back,) = effective(files(line), UNIT).exec_start
    assert back.argv == argv
    assert back.prefixes == prefixes


@given(WORDS)
def test_a_quoted_word_is_one_line(word: str) -> None:
    assert not set(quoted(word)) & set("\n\r")


VLLM_LINE = """/opt/venv/bin/vllm serve M --speculative-config '{"method": "dflash", "num_speculative_tokens": 7}' --port 1"""
BUDGET = "speculative-config.num_speculative_tokens"


def test_a_key_inside_of_a_json_flag_is_changed_where_it_stands() -> None:
    command = rewritten(loaded(VLLM_LINE), {BUDGET: 3}, dialect("vllm"))
    assert command.argv[3:] == (
        "--speculative-config",
        '{"method": "dflash", "num_speculative_tokens": 3}',
        "--port",
        "1",
    )
    assert loaded(exec_start(command)).argv == command.argv


def test_a_key_is_taken_out_and_added() -> None:
    command = rewritten(loaded(VLLM_LINE.replace("tokens", "others")), {BUDGET: 3}, dialect("vllm"))
    assert command.argv[4] == '{"method": "dflash", "num_speculative_others": 7, "num_speculative_tokens": 3}'
    command = rewritten(loaded(VLLM_LINE), {BUDGET: None}, dialect("vllm"))
    assert command.argv[4] == '{"method": "dflash"}'


def test_a_dotted_key_is_changed() -> None:
    line = "/opt/venv/bin/vllm serve M --speculative-config.method dflash --speculative-config.num_speculative_tokens=7"
    command = rewritten(loaded(line), {BUDGET: 3}, dialect("vllm"))
    assert command.argv[3:] == ("--speculative-config.method", "dflash", f"--{BUDGET}", "3")


@pytest.mark.parametrize(
    "line,why",
    [
        (
            "/opt/venv/bin/vllm serve M --speculative-config $SPEC",
            r"is no JSON object whose keys could be changed: \$SPEC",
        ),
        (VLLM_LINE.replace("--speculative-config", "-sc"), "would move speculative-config.method too"),
    ],
)
def test_json_that_is_not_certain_is_refused(line: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        rewritten(loaded(line), {BUDGET: 3}, dialect("vllm"))


@pytest.mark.parametrize(
    "changes,after",
    [
        (
            {"spec-type": None, "spec-draft-model": None, "spec-draft-n-max": None},
            "/usr/bin/llama-server -m t.gguf -ngl -1 --metrics",
        ),
        (
            {"spec-draft-n-max": 3},
            "/usr/bin/llama-server -m t.gguf --spec-type draft-dflash -md d.gguf -ngl -1 --metrics --draft-max 3",
        ),
        (
            {"spec-draft-model": "e.gguf"},
            "/usr/bin/llama-server -m t.gguf --spec-type draft-dflash --draft-max 7 -ngl -1 --metrics -md e.gguf",
        ),
    ],
)
def test_flags_with_one_dash_are_flags(changes: Changes, after: str) -> None:
    line = (
        "/usr/bin/llama-server -m t.gguf --spec-type draft-dflash -md d.gguf --draft-max 7 -ngl -1 --metrics"
    )
    assert exec_start(rewritten(loaded(line), changes, dialect("llamacpp"))) == after
