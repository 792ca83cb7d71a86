"""What faults and oddities do to the unit's file: other places, other commands that mean the same.

Law: as `stages`; text in, text out.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import layout

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.faults.stages import Stage
    from pytest_dflash.rehearsal.host import StandInHost


def without_line(beginning: str) -> Stage:
    """Takes the lines of the unit file that begin so."""

    def stage(host: StandInHost) -> None:
        lines = host.unit_file.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(beginning)]
        host.unit_file.write_text("".join(kept), "utf-8")

    return stage


def behind(wrapper: str) -> Stage:
    """Starts the engine by another program."""
    return lambda host: _write(host, f"{wrapper}{_command(host)}")


def behind_program(name: str, words: str, script: str) -> Stage:
    """Starts the engine by a program that is played by a script: `/usr/bin/NAME WORDS engine`."""

    def stage(host: StandInHost) -> None:
        program = host.root / "usr/bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(script, "utf-8")
        program.chmod(0o755)
        behind(f"{layout.quoted(str(program))} {words}")(host)

    return stage


def in_shell(before: str) -> Stage:
    """Starts the engine by a shell that is given one line."""

    def stage(host: StandInHost) -> None:
        line = shlex.join(shlex.split(_command(host).replace("%%", "%"))).replace("%", "%%")
        assert '"' not in line
        _write(host, f'/bin/sh -c "{before}{line}"')

    return stage


def in_drop_in(host: StandInHost) -> None:
    """Sets the command in a drop-in, and another one in the unit's own file."""
    command = _command(host)
    folder = host.unit_file.with_name(f"{host.unit}.d")
    folder.mkdir(exist_ok=True)
    (folder / "50-command.conf").write_text(f"[Service]\nExecStart=\nExecStart={command}\n", "utf-8")


def moved(folder: str) -> Stage:
    """Moves the unit's file into another folder below the host's root."""

    def stage(host: StandInHost) -> None:
        host.unit_file.rename(host.root / folder / host.unit)

    return stage


def environment_file(path: str) -> Stage:
    """Names a file below the host's root as one more EnvironmentFile, after the first one."""

    def stage(host: StandInHost) -> None:
        text = host.unit_file.read_text("utf-8")
        at = text.index("Environment=")
        host.unit_file.write_text(f"{text[:at]}EnvironmentFile={host.root / path}\n{text[at:]}", "utf-8")

    return stage


def model_moved(name: str) -> Stage:
    """Calls the model's folder otherwise."""

    def stage(host: StandInHost) -> None:
        models = host.root / "srv/models"
        old, new = models / "Kimi-K2.6", models / name
        old.rename(new)
        text = host.unit_file.read_text("utf-8")
        flag = f"--model-path {layout.quoted(str(old))} "
        assert flag in text
        host.unit_file.write_text(text.replace(flag, f"--model-path {layout.quoted(str(new))} "), "utf-8")

    return stage


def _command(host: StandInHost) -> str:
    """The command in one line."""
    text = host.unit_file.read_text("utf-8")
    return text.partition("\nExecStart=")[2].partition("\nRestart=")[0].replace("\\\n", "")


def _write(host: StandInHost, command: str) -> None:
    text = host.unit_file.read_text("utf-8")
    begin, end = text.index("\nExecStart="), text.index("\nRestart=")
    host.unit_file.write_text(f"{text[:begin]}\nExecStart={command}{text[end:]}", "utf-8")
