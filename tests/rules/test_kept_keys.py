"""Where keys can be read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_dflash.facts.access import Access
from pytest_dflash.facts.key_files import KeyFile
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand, UnitFiles
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.redaction import MASK
from pytest_dflash.rules import kept_keys
from tests.rules.healthy_host import NOT_HEARD, PATH, drop_in, files, process
from tests.witness.small_engine import chain_of, healthy, log
from tests.witness.small_engine import process as own_process


def hidden(serving: Any = None, key_files: Any = None, **sources: Any) -> Judgement:
    ours = serving or process(argv=("/opt/engine", "--port", "30000"))
    return kept_keys.key_hidden(chain_of(healthy(), **sources), ours, key_files or Value(()))


def test_no_key_anywhere_passes_and_names_the_places() -> None:
    judgement = hidden()
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == (
        "no key stands in the command line, the unit file, Environment=, the journal, the engine's answer"
    )


PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "argv": (
        {"serving": process(argv=("/opt/engine", "--api-key", MASK))},
        "--api-key in the command line, which every user",
    ),
    "argv with =": (
        {"serving": process(argv=("/opt/engine", f"--api-key={MASK}"))},
        "--api-key in the command line",
    ),
    "argv of a shell": (
        {"serving": process(argv=("bash", "-lc", f"engine --api-key {MASK}"))},
        "--api-key in the command line",
    ),
    "unit file": ({"unit_files": files(f"Environment=API_KEY={MASK}")}, f"{PATH}:2 in the unit file"),
    "drop-in": (
        {"unit_files": files(drop_ins=(drop_in("10-key.conf", f"Environment=API_KEY={MASK}"),))},
        "10-key.conf:2 in the unit file",
    ),
    "manager": (
        {"loaded": Value(LoadedCommand((("/opt/engine",),), {"API_KEY": MASK}, ()))},
        "API_KEY in Environment=, which `systemctl show`",
    ),
    "log": ({"journal": Value(log(f'args {{"api-key": "{MASK}"}}', "ready"))}, "api-key in the journal"),
    "answer": ({"info": Value({"api-key": MASK})}, "api-key in the engine's answer"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_key_is_found_in_each_place_and_never_printed(place: str) -> None:
    changes, said = PLACES[place]
    judgement = hidden(**changes)
    assert judgement.outcome is Outcome.FAIL
    assert said in judgement.summary
    assert MASK not in str(judgement)
    assert judgement.remedy is not None
    assert judgement.remedy.startswith("change the key")


ENV = "/etc/llm/key file.env"


def environment(access: Access | None, path: str = ENV) -> DiskFile:
    return DiskFile(path, f"API_KEY={MASK}\n", None, access)


def test_a_key_in_an_environment_file_that_everybody_may_read_fails_with_owner_mode_and_command() -> None:
    judgement = hidden(
        unit_files=files(environment_files=(environment(Access("llm", 0o644, (0o755, 0o755))),))
    )
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == (
        f"a key can be read: {ENV} (mode 0644, of llm) in EnvironmentFile=, which every user of the host can read"
    )
    assert judgement.remedy == f"change the key, then `chmod 0600 '{ENV}'`"
    assert judgement.cause == (
        "systemd itself reads an EnvironmentFile, before it starts the service: nobody else has to"
    )


def test_only_open_files_are_to_be_closed() -> None:
    two = (environment(Access("root", 0o600), "/etc/a.env"), environment(Access("root", 0o604), "/etc/b.env"))
    assert (
        hidden(unit_files=files(environment_files=two)).remedy
        == "change the key, then `chmod 0600 /etc/b.env`"
    )


def test_a_key_that_also_stands_on_the_command_line_has_to_go_from_there() -> None:
    found = files(environment_files=(environment(Access("root", 0o644)),))
    judgement = hidden(process(argv=("/opt/engine", "--api-key", MASK)), unit_files=found)
    assert judgement.remedy is not None
    assert judgement.remedy.endswith("an EnvironmentFile that only the service may read (mode 0600)")


@pytest.mark.parametrize(
    "access, told",
    [
        (Access("root", 0o600), "mode 0600, of root"),
        (Access("root", 0o640, (0o755,)), "mode 0640, of root"),
        (Access("root", 0o644, (0o755, 0o750)), "mode 0644, of root"),  # the folder lets nobody pass
        (Access("root", 0o2600), "mode 2600, of root"),
    ],
)
def test_a_key_in_an_environment_file_that_is_closed_passes_and_says_how(access: Access, told: str) -> None:
    judgement = hidden(unit_files=files(environment_files=(environment(access),)))
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.endswith(f"; {ENV} holds one and is closed to other users ({told})")


def test_a_key_in_an_environment_file_of_unknown_mode_is_unproven() -> None:
    judgement = hidden(unit_files=files(environment_files=(environment(None),)))
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary == (
        "whether a key can be read could not be told: EnvironmentFile=: owner and mode of "
        f"{ENV}, which holds one, were not told"
    )


def test_an_open_environment_file_without_a_key_is_of_no_concern() -> None:
    open_ = DiskFile("/etc/llm.env", "OMP_NUM_THREADS=8\n", None, Access("root", 0o644))
    assert hidden(unit_files=files(environment_files=(open_,))).summary == hidden().summary


def test_an_environment_file_that_this_run_may_not_read_is_closed_to_others_too_and_named() -> None:
    held = Value(LoadedCommand((("/opt/engine",),), {}, ("/etc/llm.env",)))
    judgement = hidden(unit_files=files(unreadable=("/etc/llm.env", "/etc/x.d")), loaded=held)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.endswith("the engine's answer; /etc/llm.env is closed to this run")


@pytest.mark.parametrize(
    "line, outcome", [(f"# API_KEY={MASK}", "pass"), (f"Environment=API_KEY={MASK}", "fail")]
)
def test_of_a_closed_unit_file_the_manager_tells_the_settings_and_nobody_the_comments(
    line: str, outcome: str
) -> None:
    found = files(line).value
    assert hidden(unit_files=Value(found)).outcome is Outcome.FAIL
    assert found.fragment is not None
    shut = replace(found, fragment=replace(found.fragment, access=Access("root", 0o600)))
    assert hidden(unit_files=Value(shut)).outcome == outcome


@pytest.mark.parametrize("argv", [("--api-key", "s3cr3t"), ("--admin-api-key=s3cr3t",)])
def test_a_key_too_short_to_be_masked_is_found_and_not_printed(argv: tuple[str, ...]) -> None:
    judgement = hidden(process(argv=("/opt/engine", *argv, "--port", "30000")))
    assert judgement.outcome is Outcome.FAIL
    assert "s3cr3t" not in str(judgement)
    assert "api-key in the command line, which every user" in judgement.summary


def test_an_answer_that_is_silent_is_named_and_the_others_suffice() -> None:
    judgement = hidden(info=NOT_HEARD)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.endswith("; not looked at: the engine's answer")


def test_a_log_without_settings_shows_no_key() -> None:
    assert hidden(journal=Value(log("ready"))).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "changes", [{"serving": NOT_HEARD}, {"unit_files": NOT_HEARD}, {"journal": NOT_HEARD}]
)
def test_without_command_line_unit_file_or_log_nothing_is_said(changes: Any) -> None:
    judgement = hidden(**changes)
    assert judgement.outcome is Outcome.UNPROVEN
    assert "`tool` is not there" in judgement.summary


def test_a_stopped_service_shows_no_key_on_a_command_line() -> None:
    assert hidden(Absent("no process"), process=Absent("no process")).outcome is Outcome.PASS


def test_a_unit_without_files_is_looked_at_elsewhere() -> None:
    assert hidden(unit_files=Value(UnitFiles(None))).outcome is Outcome.PASS


KEY_FILE, CONFIG = "/etc/llm/keys.txt", "/etc/llm/engine.yaml"


def test_a_key_file_of_the_command_line_that_every_user_can_read_fails_and_says_how_to_close_it() -> None:
    open_ = KeyFile("--api-key-file", KEY_FILE, Access("root", 0o644, (0o755,)))
    judgement = hidden(key_files=Value((open_,)))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == (
        f"a key can be read: {KEY_FILE} (mode 0644, of root) of --api-key-file in a file that the command line "
        "names, which every user of the host can read"
    )
    assert judgement.remedy == (
        f"change the key, then `chmod 0600 {KEY_FILE}`; what the engine reads has to belong to the service's user"
    )


@pytest.mark.parametrize(
    "file, told",
    [
        (
            KeyFile("--ssl-keyfile", KEY_FILE, Access("llm", 0o600)),
            "is closed to other users (mode 0600, of llm)",
        ),
        (
            KeyFile("--ssl-keyfile", KEY_FILE, Access("llm", 0o644, (0o700,))),
            "is closed to other users (mode 0644",
        ),
        (KeyFile("--ssl-keyfile", KEY_FILE), "is closed to this run"),
        (
            KeyFile("--ssl-keyfile", KEY_FILE, elsewhere=True),
            "is below mounts of the service's own, as in a container; who reads it there was not looked at",
        ),
    ],
)
def test_a_key_file_that_nobody_else_reads_passes_and_says_so(file: KeyFile, told: str) -> None:
    judgement = hidden(key_files=Value((file,)))
    assert judgement.outcome is Outcome.PASS
    assert f"{KEY_FILE} of --ssl-keyfile {told}" in judgement.summary


@pytest.mark.parametrize("text, outcome", [(f"api-key: {MASK}", Outcome.FAIL), ("tp-size: 8", Outcome.PASS)])
def test_an_open_configuration_is_a_matter_only_where_it_holds_a_key(text: str, outcome: Outcome) -> None:
    file = KeyFile("--config", CONFIG, Access("root", 0o644))
    judgement = hidden(key_files=Value((file,)), config_files={CONFIG: text})
    assert judgement.outcome is outcome
    assert (CONFIG in judgement.summary) is (outcome is Outcome.FAIL)


def test_where_the_files_of_the_command_line_were_not_looked_at_nothing_is_proven() -> None:
    judgement = hidden(key_files=Silent("no answer"))
    assert judgement.outcome is Outcome.UNPROVEN
    assert "a file that the command line names: no answer" in judgement.summary


@pytest.mark.parametrize(
    "seen", [(), (KeyFile("--ssl-keyfile", "key.pem", unresolved=True),), (KeyFile("--config", "key.pem"),)]
)
def test_a_key_file_that_the_process_names_and_nobody_looked_for_proves_nothing(
    seen: tuple[KeyFile, ...],
) -> None:
    argv = ("/opt/engine", "--model", "/m", "--ssl-keyfile", "key.pem")
    judgement = hidden(key_files=Value(seen), process=Value(own_process(*argv)))
    assert judgement.outcome is Outcome.UNPROVEN
    assert "who reads key.pem of --ssl-keyfile was not seen" in judgement.summary


def test_a_key_file_is_closed_by_its_whole_path() -> None:
    file = KeyFile("--ssl-keyfile", "../key.pem", Access("root", 0o644), at="/var/lib/llm/../key.pem")
    assert "`chmod 0600 /var/lib/llm/../key.pem`" in str(hidden(key_files=Value((file,))).remedy)


def test_an_open_configuration_that_was_not_read_proves_nothing() -> None:
    judgement = hidden(key_files=Value((KeyFile("--config", CONFIG, Access("root", 0o644)),)))
    assert judgement.outcome is Outcome.UNPROVEN
    assert f"{CONFIG} of --config was not read, and every user can read it" in judgement.summary
