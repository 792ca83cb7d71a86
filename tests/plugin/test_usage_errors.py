"""What cannot be done is refused before anything is run, and says which option, which value and what instead."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import HOST, PROFILE, Project


def refused(project: Project, *arguments: str, host: str | None = HOST) -> str:
    """Runs, and returns what was said; nothing was run and nothing was left."""
    if not (project.path / "test_checks.py").exists():
        project.checks(project.finding("pass"))
    run = project.run(*arguments, host=host)
    assert run.code == 4, run.out + run.err
    assert not (project.path / "reports").exists()
    assert " passed" not in run.out
    assert "Traceback" not in run.out + run.err
    return run.out + run.err


def test_no_host_names_the_rehearsal(project: Project) -> None:
    said = refused(project, host=None)
    assert "these suites test a host, and none was named: add --host=ADDRESS, or try --host=rehearsal" in said


@pytest.mark.slow
def test_no_host_is_a_usage_error_under_xdist_too(project: Project) -> None:
    project.checks(project.finding("pass"))
    run = project.run("-n2", host=None, apart=True)
    assert run.code == 4, run.out + run.err
    assert "add --host=ADDRESS, or try --host=rehearsal" in run.out + run.err


def test_two_options_that_name_hosts(project: Project) -> None:
    assert "--host and testinfra's --hosts name hosts twice; keep --host" in refused(
        project, "--hosts=local://"
    )


@pytest.mark.parametrize(
    "spec, said",
    [
        ("-oProxyCommand=id", "begins with a dash"),
        ("root@-oProxyCommand=id", "begins with a dash"),
        ("a b", "holds blanks or control characters"),
        ("gpu1\x07", "holds blanks or control characters"),
        ("root:hunter22@gpu1", "carries a password"),
        ("telnet://gpu1", "has the unknown scheme 'telnet'"),
        ("gpu1:99999", "the port must be a number from 1 to 65535"),
        ("", "--host has an empty name"),
        ("gpu1;id", "is no address, host name or alias"),
        ("rehearsal,gpu1", "--host=rehearsal stands alone"),
    ],
)
def test_a_host_that_cannot_be_named_like_this(project: Project, spec: str, said: str) -> None:
    out = refused(project, host=spec)
    assert said in out
    assert "hunter22" not in out


@pytest.mark.parametrize(
    "words, said",
    [
        ("lode", "--dflash-allow: 'lode' is unknown; did you mean load? Allowed are read, probe, load"),
        ("", "--dflash-allow: no word given"),
        (",", "--dflash-allow: no word given"),
    ],
)
def test_a_level_that_nobody_knows(project: Project, words: str, said: str) -> None:
    assert said in refused(project, f"--dflash-allow={words}")


@pytest.mark.parametrize("place", ["ini", "environment"])
@pytest.mark.parametrize("word", ["restart", "reconfigure"])
def test_what_changes_a_host_counts_only_when_typed(
    project: Project, monkeypatch: pytest.MonkeyPatch, place: str, word: str
) -> None:
    if place == "ini":
        project.pytester.makeini(f"[pytest]\naddopts = --dflash-allow={word}\n")
    else:
        monkeypatch.setenv("PYTEST_ADDOPTS", f"--dflash-allow={word}")
    said = refused(project)
    assert (
        f"--dflash-allow: '{word}' changes the host, so it counts only when typed on the command line" in said
    )


def test_what_was_typed_counts(project: Project) -> None:
    project.checks(project.finding("not_run"))
    assert project.run("--dflash-allow", "read,restart").outcomes == ["pass"]
    assert project.run("--dflash-allow=reconfigure").outcomes == ["pass"]


@pytest.mark.parametrize(
    "text, said",
    [
        ("[service", "it is not TOML"),
        (PROFILE + "[flagz]\ntp-size = 8\n", "flagz"),
        (PROFILE + '[gpu]\ncount = "eight"\n', "gpu.count"),
        (PROFILE + "[gpu]\ncount = -1\n", "gpu.count"),
        ("reviewed = true\n", "service"),
        (
            PROFILE.replace("sglang", "sgalng"),
            "service.engine: 'sgalng' is not known; known engines: llamacpp, sglang",
        ),
        (
            PROFILE + '[endpoint]\napi_key_env = "DFLASH_TEST_UNSET"\n',
            "the variable DFLASH_TEST_UNSET is not set here",
        ),
    ],
)
def test_a_profile_that_cannot_be_used_names_file_and_key(project: Project, text: str, said: str) -> None:
    project.profile(text=text)
    out = refused(project)
    assert said in out
    assert "dflash.toml: " in out


def test_a_unit_of_a_user_is_not_restarted(project: Project) -> None:
    project.profile(text=PROFILE.replace('unit = "', 'user_manager = "sglang"\nunit = "', 1))
    said = "service.user_manager: units of a user's own manager are not restarted; allow read, probe or load"
    assert said in refused(project, "--dflash-allow=read,restart")


@pytest.mark.parametrize("name", ["", "a b", "-x", "$(id)", "A"])
def test_a_user_whose_name_could_act_is_refused(project: Project, name: str) -> None:
    project.profile(text=PROFILE.replace('unit = "', f'user_manager = "{name}"\nunit = "', 1))
    assert "service.user_manager" in refused(project)


def test_a_profile_that_is_not_there(project: Project) -> None:
    assert "gone.toml: cannot be read as a profile: No such file" in refused(
        project, "--dflash-profile=gone.toml"
    )


def test_a_profile_that_is_a_folder(project: Project) -> None:
    assert "cannot be read as a profile: Is a directory" in refused(project, "--dflash-profile=.")


def test_no_profile_at_all_says_how_to_write_one(project: Project) -> None:
    (project.path / "dflash.toml").unlink()
    said = refused(project)
    assert "write one from what the host shows with --dflash-write-profile=dflash.toml" in said


def test_two_profiles_for_one_unit(project: Project) -> None:
    project.profile(name="again.toml")
    said = refused(project, "--dflash-profile=dflash.toml", "--dflash-profile=again.toml")
    assert "again.toml are both for the unit engine.service on 10.1.2.200; name one of them" in said


@pytest.mark.parametrize(
    "expectation, said",
    [("window.tokens", "window.tokens"), ("window.tokns=1", "window.tokns"), ("gpu.count=many", "gpu.count")],
)
def test_an_expectation_that_is_none(project: Project, expectation: str, said: str) -> None:
    assert said in refused(project, f"--dflash-expect={expectation}")


@pytest.mark.parametrize("seconds", ["-1", "0", "inf", "nan"])
def test_a_wait_that_cannot_be(project: Project, seconds: str) -> None:
    said = refused(project, f"--dflash-ready-timeout={seconds}")
    assert "--dflash-ready-timeout: must be a positive number of seconds, found " in said


def test_a_wait_that_is_no_number(project: Project) -> None:
    assert "argument --dflash-ready-timeout: invalid float value: 'soon'" in refused(
        project, "--dflash-ready-timeout=soon"
    )


def test_a_fault_on_a_real_host(project: Project) -> None:
    said = refused(project, "--dflash-fault=wrong-flag")
    assert "--dflash-fault stages faults in the rehearsal only, never on a host" in said


def test_a_fault_without_a_host(project: Project) -> None:
    assert "add --host=rehearsal" in refused(project, "--dflash-fault=wrong-flag", host=None)


def test_a_fault_that_nobody_knows_names_close_ones(project: Project) -> None:
    said = refused(project, "--dflash-fault=wrong-flags", host="rehearsal")
    assert "--dflash-fault=wrong-flags: there is no such fault; did you mean wrong-flag?" in said


def test_the_list_of_faults_needs_no_host(project: Project) -> None:
    run = project.run("--dflash-fault=list", host=None)
    assert run.code == 0
    rows = [line.split("\t") for line in run.out.splitlines() if "\t" in line]
    assert {len(row) for row in rows} == {4}
    assert "window-dropped" in {row[0] for row in rows}


@pytest.mark.parametrize("place", ["option", "ini"])
def test_a_report_folder_that_cannot_be_made_is_said_at_the_start(project: Project, place: str) -> None:
    (project.path / "file").write_text("in the way")
    if place == "ini":
        project.pytester.makeini("[pytest]\ndflash_report_dir = file/x\n")
        said = refused(project)
    else:
        said = refused(project, "--dflash-report-dir=file/x")
    assert "--dflash-report-dir: cannot write reports into " in said
    assert "Not a directory; name another folder with --dflash-report-dir" in said


@pytest.mark.parametrize("named", [(), ("--dflash-report-dir=deep/er",)])
def test_a_path_that_is_not_there_leaves_no_folder(project: Project, named: tuple[str, ...]) -> None:
    refused(project, "no_such_folder", *named)
    assert not (project.path / "deep").exists()


def test_a_folder_that_was_there_stays_with_what_it_holds(project: Project) -> None:
    (project.path / "mine").mkdir()
    (project.path / "mine" / "findings.json").write_text("{}")
    refused(project, "no_such_folder", "--dflash-report-dir=mine")
    assert [path.name for path in (project.path / "mine").iterdir()] == ["findings.json"]


def test_an_option_that_does_not_exist_is_named(project: Project) -> None:
    assert "unrecognized arguments: --dflash-gate=x" in refused(project, "--dflash-gate=x")


def test_a_window_that_is_said_twice_and_not_alike_is_refused_with_both_places(project: Project) -> None:
    project.profile("[flags]\nspeculative-draft-window-size = 64\n[window]\ntokens = 32\n")
    said = refused(project)
    assert "window.tokens is 32 (" in said
    assert "flags.speculative-draft-window-size is 64 (" in said
    assert "they contradict each other; keep [window] tokens and take the flag out of [flags]" in said
    project.checks(project.finding("pass"))
    assert project.run("--dflash-expect", "window.tokens=64").code == 0
