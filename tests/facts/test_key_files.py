"""Who may read the key files that the command line of a real process names."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dflash.facts.key_files import KEY_FILES, KeyFile
from pytest_dflash.facts.reading import Value
from tests.facts.conftest import AskOfAProcess


def test_owner_and_mode_are_told_of_key_files_and_configuration_and_of_nothing_else(
    ask_of_a_process: AskOfAProcess, tmp_path: Path
) -> None:
    for name, mode in (("key file.pem", 0o644), ("engine.yaml", 0o600), ("model", 0o644)):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(mode)
    owner = tmp_path.owner()
    told = KEY_FILES.parse(
        ask_of_a_process(
            KEY_FILES, "--config", "engine.yaml", f"--ssl_keyfile={tmp_path}/key file.pem", "--model", "model"
        )
    )
    assert isinstance(told, Value)
    config, key = told.value
    assert (config.flag, config.path, config.elsewhere) == ("--config", "engine.yaml", False)
    assert (config.at, key.at) == (f"{tmp_path}/engine.yaml", f"{tmp_path}/key file.pem")
    assert (key.flag, key.path) == ("--ssl-keyfile", f"{tmp_path}/key file.pem")
    assert config.access is not None
    assert key.access is not None
    assert (config.access.mode, key.access.mode, key.access.owner) == (0o600, 0o644, owner)
    assert key.access.folders[0] == tmp_path.stat().st_mode & 0o7777
    assert len(key.access.folders) == len(tmp_path.parts) - 1


def test_a_file_that_is_not_there_for_whoever_looks_is_told_without_a_mode(
    ask_of_a_process: AskOfAProcess,
) -> None:
    told = KEY_FILES.parse(ask_of_a_process(KEY_FILES, "--api-key-file", "/nowhere/keys"))
    assert told == Value((KeyFile("--api-key-file", "/nowhere/keys", at="/nowhere/keys"),), "stat")


def test_a_process_that_names_none_has_none(ask_of_a_process: AskOfAProcess) -> None:
    assert KEY_FILES.parse(ask_of_a_process(KEY_FILES, "--port", "1", "--api-key-file")) == Value((), "stat")


def test_text_of_the_command_line_is_data(ask_of_a_process: AskOfAProcess, tmp_path: Path) -> None:
    ask_of_a_process(
        KEY_FILES, "--config", "$(touch hacked)", "--ssl-keyfile", "`touch hacked`; touch hacked"
    )
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("line", ["ssl-keyfile: {}", "ssl_keyfile:   '{}'  # ours", 'ssl-keyfile: "{}"'])
def test_a_key_file_that_the_configuration_names_is_looked_for_too(
    ask_of_a_process: AskOfAProcess, tmp_path: Path, line: str
) -> None:
    key = tmp_path / "key file.pem"
    key.write_text("x")
    key.chmod(0o640)
    (tmp_path / "engine.yaml").write_text(
        f"port: 1\n{line.format(key)}\nname: $(touch hacked)\napi-key-file: /nowhere\n"
    )
    told = KEY_FILES.parse(ask_of_a_process(KEY_FILES, "--config", "engine.yaml"))
    assert isinstance(told, Value)
    assert [(each.flag, each.path) for each in told.value] == [
        ("--config", "engine.yaml"),
        ("--ssl-keyfile", str(key)),
        ("--api-key-file", "/nowhere"),
    ]
    assert told.value[1].access is not None
    assert told.value[1].access.mode == 0o640


def test_a_path_of_a_process_with_mounts_of_its_own_is_not_looked_up_on_the_host(
    ask_of_a_process: AskOfAProcess, tmp_path: Path
) -> None:
    """As a login sees it that may not follow the process's root: the stand-in's processes have none."""
    (tmp_path / "key.pem").write_text("x")
    for own, elsewhere in (("22 0 / / rw", False), ("99 0 / / rw", True)):
        for who, text in (("self", "22 0 / / rw"), ("7", own)):
            folder = tmp_path / "proc" / who
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "mountinfo").write_text(text + "\n")
        (tmp_path / "proc/7/cmdline").write_bytes(
            f"python\0-m\0x\0--ssl-keyfile\0{tmp_path}/key.pem\0".encode()
        )
        (tmp_path / "proc/7/exe").unlink(missing_ok=True)
        (tmp_path / "proc/7/exe").symlink_to("/usr/bin/python3")
        told = KEY_FILES.parse(ask_of_a_process(KEY_FILES, root=tmp_path, pid="7"))
        assert isinstance(told, Value)
        assert [each.elsewhere for each in told.value] == [elsewhere]
