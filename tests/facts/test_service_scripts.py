"""The scripts of systemd's and the journal's probes: right about what they find in folders of this machine."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.facts.access import Access
from pytest_dflash.facts.journal import JOURNAL
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.systemd import LOADED_COMMAND, UnitFiles
from pytest_dflash.facts.unit_lookup import UNIT_FILES

SHELL = shutil.which("dash") or "/bin/sh"


def ask(probe: Probe[Any], bin_folder: Path, **variables: str) -> Reading[Any]:
    """Runs a probe with `bin_folder` before this machine's tools."""
    environment = {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
        "R": "/nowhere",
    } | variables
    run = subprocess.run(
        [SHELL, "-c", probe.script], env=environment, capture_output=True, check=False, timeout=60
    )
    return probe.parse(Reply(run.stdout, run.stderr, run.returncode))


def tool(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def search(
    tools: Path, tmp_path: Path, unit: str, *, names: str = "", loaded: str = "", root: str = "/nowhere"
) -> UnitFiles:
    """Looks for a unit's files in `etc`, `run` and `usr lib`, in this order of precedence."""
    path = " ".join(str(tmp_path / name) for name in ("etc", "run", "usr lib"))
    body = f"""case $* in
    *UnitPath*) echo '{path}' ;;
    *) printf '%s\\n' 'Names={names or unit}' '{loaded}' ;;
esac"""
    tool(tools, "systemctl", body)
    found = ask(UNIT_FILES, tools, UNIT=unit, R=root)
    assert isinstance(found, Value)
    assert isinstance(found.value, UnitFiles)
    return found.value


def test_drop_ins_are_sorted_by_name_over_all_folders_and_earlier_folders_hide(
    tools: Path, tmp_path: Path
) -> None:
    put(tmp_path / "usr lib/a-b.service", "[Service]\nExecStart=/bin/a\n")
    put(tmp_path / "run/a-b.service.d/05-first.conf")
    put(tmp_path / "run/a-b.service.d/20-hidden.conf", "hidden")
    put(tmp_path / "etc/a-b.service.d/20-hidden.conf", "shown")
    put(tmp_path / "etc/a-.service.d/10-prefix.conf")
    put(tmp_path / "etc/service.d/30-type.conf")
    put(tmp_path / "etc/a-b.service.d/ignored.txt")
    put(tmp_path / "usr lib/a-b.service.d/40-masked.conf", "hidden")
    (tmp_path / "etc/a-b.service.d/40-masked.conf").symlink_to("/dev/null")
    found = search(tools, tmp_path, "a-b.service")
    assert found.fragment is not None
    assert found.fragment.path == str(tmp_path / "usr lib/a-b.service")
    assert [Path(file.path).relative_to(tmp_path).as_posix() for file in found.drop_ins] == [
        "run/a-b.service.d/05-first.conf",
        "etc/a-.service.d/10-prefix.conf",
        "etc/a-b.service.d/20-hidden.conf",
        "etc/service.d/30-type.conf",
    ]
    assert found.masked == (str(tmp_path / "etc/a-b.service.d/40-masked.conf"),)


def test_an_instance_has_the_files_of_its_template(tools: Path, tmp_path: Path) -> None:
    put(tmp_path / "etc/x@.service", "[Service]\n")
    put(tmp_path / "run/x@.service.d/1.conf")
    put(tmp_path / "run/x@7.service.d/2.conf")
    found = search(tools, tmp_path, "x@7.service")
    assert found.fragment is not None
    assert found.fragment.path.endswith("etc/x@.service")
    assert [Path(file.path).name for file in found.drop_ins] == ["1.conf", "2.conf"]


def test_content_that_looks_like_a_header_stays_content(tools: Path, tmp_path: Path) -> None:
    text = "[Service]\ndrop-in\t1\t/etc/evil.conf\nend\n no trailing line"
    put(tmp_path / "etc/x.service", text)
    found = search(tools, tmp_path, "x.service")
    assert found.fragment is not None
    assert found.fragment.text == text
    assert found.drop_ins == ()


def test_environment_files_of_disk_and_manager_are_read(tools: Path, tmp_path: Path) -> None:
    one = put(tmp_path / "with blank/one.env", "A=1")
    two = put(tmp_path / "two.env", "B=2")
    gone = tmp_path / "gone.env"
    put(tmp_path / "etc/x.service", f"[Service]\nEnvironmentFile={one}\n EnvironmentFile = -{gone}\n")
    found = search(tools, tmp_path, "x.service", loaded=f"EnvironmentFiles={two} (ignore_errors=no)")
    assert sorted((file.path, file.text) for file in found.environment_files) == sorted(
        [(str(one), "A=1"), (str(two), "B=2")]
    )
    assert found.missing == (str(gone),)
    assert found.unreadable == ()


def test_owner_and_mode_come_with_each_file_and_those_of_the_folders_above_it(
    tools: Path, tmp_path: Path
) -> None:
    closed = put(tmp_path / "closed folder/one.env", "A=1")
    linked = tmp_path / "two.env"
    linked.symlink_to(closed)
    closed.chmod(0o644)
    tmp_path.chmod(0o711)
    unit = put(tmp_path / "etc/x.service", f"[Service]\nEnvironmentFile={closed}\nEnvironmentFile={linked}\n")
    unit.chmod(0o600)
    closed.parent.chmod(0o750)
    found = search(tools, tmp_path, "x.service", root=str(tmp_path.parent))
    assert found.fragment is not None
    owner = tmp_path.owner()
    assert found.fragment.access == Access(owner, 0o600, ((tmp_path / "etc").stat().st_mode & 0o7777, 0o711))
    assert {file.path: file.access for file in found.environment_files} == {
        str(closed): Access(owner, 0o644, (0o750, 0o711)),
        str(linked): Access(owner, 0o644, (0o750, 0o711)),
    }


def test_a_users_own_manager_is_asked_for_its_version_and_its_variables(tools: Path, tmp_path: Path) -> None:
    owner = pwd.getpwuid(os.getuid())
    body = "printf '%s\\n' Version=254.5-1 'Environment=HOME=/x XDG_CONFIG_HOME=/y'"
    tool(tools, "systemctl", f"case $* in *Version*) {body} ;; *) echo UnitPath={tmp_path} ;; esac")
    found = ask(UNIT_FILES, tools, UNIT="x.service", OWNER=owner.pw_name, XDG_RUNTIME_DIR="/run/user/7", R="")
    assert isinstance(found, Value)
    assert found.value.by_user
    told = {key: value for key, value in found.value.specifiers.items() if key not in "Hvbm"}
    assert told == {
        "u": owner.pw_name,
        "U": str(owner.pw_uid),
        "g": grp.getgrgid(owner.pw_gid).gr_name,
        "G": str(owner.pw_gid),
        "h": owner.pw_dir,
        "t": "/run/user/7",
        "C": f"{owner.pw_dir}/.cache",
        "S": f"{owner.pw_dir}/.local/state",
        "L": f"{owner.pw_dir}/.local/state/log",
        "T": "/tmp",
        "V": "/var/tmp",
    }


def test_a_percent_sign_in_the_path_of_an_environment_file_is_no_specifier(
    tools: Path, tmp_path: Path
) -> None:
    one = put(tmp_path / "100% ä/one.env", "A=1")
    doubled = str(one).replace("%", "%%")
    put(tmp_path / "etc/x.service", f"[Service]\nEnvironmentFile={doubled}\nEnvironmentFile=/etc/%i.env\n")
    found = search(tools, tmp_path, "x.service", loaded=f"EnvironmentFiles={one} (ignore_errors=no)")
    assert [(file.path, file.text) for file in found.environment_files] == [(str(one), "A=1")]
    assert (found.missing, found.unreadable) == ((), ())


def test_patterns_of_environment_files_are_expanded(tools: Path, tmp_path: Path) -> None:
    put(tmp_path / "env/b.env", "B=1")
    put(tmp_path / "env/a.env", "A=1")
    put(tmp_path / "etc/x.service", f"[Service]\nEnvironmentFile={tmp_path}/env/*.env\n")
    found = search(tools, tmp_path, "x.service")
    assert [file.text for file in found.environment_files] == ["A=1", "B=1"]


@pytest.mark.parametrize(
    "unit, label",
    [
        ("sglang-k26-ddtree.service", "sglang_2dk26_2dddtree_2eservice"),
        ("a_b@c:d.service", "a_5fb_40c_3ad_2eservice"),
        ("7up.service", "_37up_2eservice"),
        (r"dev-a\x2db.service", "dev_2da_5cx2db_2eservice"),
    ],
)
def test_the_bus_path_of_a_unit_is_escaped_as_systemd_does(tools: Path, unit: str, label: str) -> None:
    tool(tools, "busctl", 'echo "$*" >&2; exit 3')
    reading = ask(LOADED_COMMAND, tools, UNIT=unit)
    assert isinstance(reading, Silent)
    assert f"/org/freedesktop/systemd1/unit/{label} org.freedesktop.systemd1.Service" in reading.why


LINE = '{"__REALTIME_TIMESTAMP":"%s","__MONOTONIC_TIMESTAMP":"%s","__CURSOR":"%s","_PID":"9","MESSAGE":"m"}'


def journalctl(tools: Path, lines: int) -> None:
    """A journal of so many lines, which knows `-n`."""
    tool(tools, "systemctl", "echo 5")
    body = f"""n=1; while [ "$1" ]; do [ "$1" = -n ] && n=$(({lines} - $2 + 1)); shift; done
seq "$n" {lines} | sed 's/.*/{LINE.replace("%s", "&")}/'"""
    tool(tools, "journalctl", body)


@pytest.mark.parametrize(
    "lines, whole, read", [(3, True, 3), (4000, True, 4000), (4300, True, 4300), (9000, False, 4400)]
)
def test_a_long_journal_is_read_at_both_ends(tools: Path, lines: int, whole: bool, read: int) -> None:  # noqa: FBT001 - a table
    journalctl(tools, lines)
    reading = ask(JOURNAL, tools, UNIT="x.service", INVOCATION="ab")
    assert isinstance(reading, Value)
    assert (reading.value.whole, len(reading.value.entries)) == (whole, read)
    assert reading.value.entries[-1].realtime_us == lines


def test_a_line_of_many_megabytes_is_left_out_and_told(tools: Path) -> None:
    tool(tools, "systemctl", "echo 5")
    line = LINE.replace("%s", "5")
    long = f"""printf '%s' '{line.removesuffix('"}')}'; head -c 50000000 /dev/zero | tr '\\0' x; echo '"}}'"""
    tool(tools, "journalctl", f"echo '{line}'; {long}; echo '{line}'")
    reading = ask(JOURNAL, tools, UNIT="x.service", INVOCATION="ab")
    assert isinstance(reading, Value)
    assert [entry.message for entry in reading.value.entries] == ["m", "m"]
    assert not reading.value.whole
    assert reading.value.gap == "1 lines are longer than anybody reads, and were left out"


def test_a_journal_without_a_line_asks_whether_it_can_be_read_at_all(tools: Path) -> None:
    tool(tools, "systemctl", "echo 5")
    tool(tools, "journalctl", 'case $* in *_PID=1) echo \'{"__REALTIME_TIMESTAMP":"1"}\' ;; esac')
    reading = ask(JOURNAL, tools, UNIT="x.service", INVOCATION="ab")
    assert reading == Silent(
        "the journal keeps no line of this invocation: rotated away, or never written",
        "journal, invocation ab…",
    )
