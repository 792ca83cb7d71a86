"""Unit files as systemd reads them. What is odd here was seen on systemd 252."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.reading import Value
from pytest_dflash.facts.systemd import LOADED_COMMAND, DiskFile, UnitFiles
from pytest_dflash.facts.unit_file import EffectiveUnit, Located, effective, expand, flag_line
from pytest_dflash.facts.unit_lookup import UNIT_FILES
from tests.facts.probes import CASES, reply

UNIT = "sglang-k26-ddtree.service"
PATH = f"/etc/systemd/system/{UNIT}"


def files(fragment: str, *drop_ins: str) -> UnitFiles:
    return UnitFiles(
        DiskFile(PATH, fragment),
        tuple(DiskFile(f"/run/{number}.conf", text) for number, text in enumerate(drop_ins)),
    )


def unit(fragment: str, *drop_ins: str, name: str = UNIT) -> EffectiveUnit:
    return effective(files(fragment, *drop_ins), name)


def argvs(fragment: str, *drop_ins: str, name: str = UNIT) -> list[tuple[str, ...]]:
    return [command.argv for command in unit(fragment, *drop_ins, name=name).exec_start]


def test_each_argument_knows_its_own_line() -> None:
    text = "[Service]\n# why\nExecStart=/bin/serve --a 1 \\\n  # inside\n  --window \\\n  2048\n"
    command = unit(text).exec_start[0]
    assert command.argv == ("/bin/serve", "--a", "1", "--window", "2048")
    assert command.lines == (3, 3, 3, 5, 6)
    assert command.where == f"{PATH}:3"
    assert command.where_of(4) == f"{PATH}:6"
    assert flag_line(files(text), UNIT, "--window") == f"{PATH}:5"
    assert flag_line(files(text), UNIT, "--other") is None


def test_an_empty_assignment_resets_the_commands_of_earlier_files() -> None:
    assert argvs("[Service]\nExecStart=/bin/a\n", "[Service]\nExecStart=\nExecStart=/bin/b\n") == [
        ("/bin/b",)
    ]
    assert argvs("[Service]\nExecStart=/bin/a\n", "[Service]\nExecStart=\n") == []
    assert argvs("[Service]\nExecStart=/bin/a\n", "[Service]\nExecStart=/bin/b\n") == [
        ("/bin/a",),
        ("/bin/b",),
    ]


@pytest.mark.parametrize(
    "line, argv",
    [
        ("/bin/a 'b c' \"d e\"", ("/bin/a", "b c", "d e")),
        (r"/bin/a b\x20c \x41\102 \u00e9 t\tt", ("/bin/a", "b c", "AB", "é", "t\tt")),
        ('/bin/a ""', ("/bin/a", "")),
        (r"/bin/a \q", ("/bin/a", r"\q")),
        ("/bin/a 100%% %n %N %p", ("/bin/a", "100%", UNIT, UNIT[:-8], "sglang-k26-ddtree")),
        ("/bin/a $$B ${C} $D", ("/bin/a", "$$B", "${C}", "$D")),
        ("-/bin/a b", ("/bin/a", "b")),
        ("@/bin/a zero b", ("zero", "b")),
        ("+:-/bin/a", ("/bin/a",)),
        ("python -m x", ("python", "-m", "x")),
    ],
)
def test_words_are_unquoted_and_specifiers_resolved(line: str, argv: tuple[str, ...]) -> None:
    assert argvs(f"[Service]\nExecStart={line}\n") == [argv]


def test_a_lone_semicolon_separates_commands_and_an_escaped_one_does_not() -> None:
    assert argvs("[Service]\nExecStart=/bin/a x ; /bin/b \\; y;z\n") == [
        ("/bin/a", "x"),
        ("/bin/b", ";", "y;z"),
    ]


def test_prefixes_and_the_program_are_kept_apart() -> None:
    command = unit("[Service]\nExecStart=-@/bin/a zero\n").exec_start[0]
    assert (command.prefixes, command.executable, command.argv) == ("-@", "/bin/a", ("zero",))


@pytest.mark.parametrize(
    "line, reason",
    [
        ("/bin/a 'open", "a quote is not closed"),
        ("opt/bin/a", "'opt/bin/a' is neither a name nor an absolute path"),
        ("+!/bin/a", "'!/bin/a' is neither a name nor an absolute path"),
    ],
)
def test_a_command_that_systemd_refuses_ends_the_reading(line: str, reason: str) -> None:
    read = unit(f"[Service]\nExecStart={line}\nEnvironment=A=1\n", "[Service]\nEnvironment=B=1\n")
    assert read.exec_start == ()
    assert read.environment == {}
    assert read.notes == (f"{PATH}:2: {reason}, systemd refuses the unit",)


def test_specifiers_that_nobody_here_knows_stay_and_are_noted() -> None:
    command = unit("[Service]\nExecStart=/bin/a %q\n").exec_start[0]
    assert command.argv == ("/bin/a", "%q")
    assert command.notes == ("%q is resolved by the host only",)


def test_the_host_tells_its_own_specifiers() -> None:
    told = UnitFiles(
        DiskFile(PATH, "[Service]\nExecStart=/bin/a %H %l %v\n"),
        specifiers={"H": "gpu1.example", "v": "6.8.0"},
    )
    assert effective(told, UNIT).exec_start[0].argv == ("/bin/a", "gpu1.example", "gpu1", "6.8.0")


@pytest.mark.parametrize(
    "specifier, value",
    [
        ("%i", r"a-b\x2dc"),
        ("%I", "a/b-c"),
        ("%p", "llm-serve"),
        ("%P", "llm/serve"),
        ("%j", "serve"),
        ("%t", "/run"),
    ],
)
def test_an_instance_gives_the_template_its_specifiers(specifier: str, value: str) -> None:
    name = r"llm-serve@a-b\x2dc.service"
    assert argvs(f"[Service]\nExecStart=/bin/a {specifier}\n", name=name) == [("/bin/a", value)]


def test_environment_adds_up_is_overridden_and_reset() -> None:
    read = unit('[Service]\nEnvironment="A=b c" D=1\nEnvironment=D=2\n', "[Service]\nEnvironment=E=%p\n")
    assert read.environment == {
        "A": Located("b c", f"{PATH}:2"),
        "D": Located("2", f"{PATH}:3"),
        "E": Located("sglang-k26-ddtree", "/run/0.conf:2"),
    }
    assert unit("[Service]\nEnvironment=A=1\n", "[Service]\nEnvironment=\n").environment == {}


def test_words_that_are_no_assignment_are_noted() -> None:
    read = unit("[Service]\nEnvironment=A\nEnvironment=B=1 C=\\d D=1\n")
    assert read.environment == {"B": Located("1", f"{PATH}:3")}
    assert read.notes == (
        f"{PATH}:2: 'A' is no assignment, systemd ignores it",
        f"{PATH}:3: an escape that systemd does not know, it ignores the rest",
    )


def test_environment_files_keep_their_order_and_lose_their_dash() -> None:
    read = unit("[Service]\nEnvironmentFile=-/etc/a b.env\nEnvironmentFile=/etc/%p.env\n")
    assert read.environment_files == ("/etc/a b.env", "/etc/sglang-k26-ddtree.env")
    assert (
        unit("[Service]\nEnvironmentFile=/etc/a\n", "[Service]\nEnvironmentFile=\n").environment_files == ()
    )


def test_every_setting_is_kept_with_its_place() -> None:
    read = unit("[Service]\nRestart = no\n", "[Service]\nRestart=always\n[Unit]\nAfter=a b\n")
    assert read.settings[("Service", "Restart")] == (
        Located("no", f"{PATH}:2"),
        Located("always", "/run/0.conf:2"),
    )
    assert read.settings[("Unit", "After")] == (Located("a b", "/run/0.conf:4"),)


@pytest.mark.parametrize(
    "text",
    [
        "ExecStart=/bin/outside\n[Service]\nExecStart=/bin/a\n",
        "[Service]\r\nExecStart=/bin/a\r\n",
        "\ufeff[Service]\nExecStart=/bin/a",
        "[Service]\n; c\n  # c\nno assignment\nExecStart  =  /bin/a  \n",
        "[Service]\nExecStart=/bin/a\n[Service\nExecStart=/bin/behind-a-broken-header\n",
        "[X-Other]\nExecStart=/bin/x\n[Service]\nExecStart=/bin/a \\\n\n",
        "[Service]\nExecStart=/bin/a \\",
    ],
)
def test_what_systemd_ignores_is_ignored(text: str) -> None:
    assert argvs(text) == [("/bin/a",)]


@pytest.mark.parametrize(
    "argv, expanded",
    [
        (("a", "$TWO"), ("a", "1", "2 3")),
        (("a", "${TWO}"), ("a", "1 '2 3'")),
        (("a", "x${ONE}y${NONE}z"), ("a", "xoneyz")),
        (("a", "$NONE", "b"), ("a", "b")),
        (("a", "b$ONE"), ("a", "b$ONE")),
        (("a", "$$ONE", "$$"), ("a", "$ONE", "$")),
        (("a", "${ONE"), ("a", "${ONE")),
        (("a", "--x=${ONE}"), ("a", "--x=one")),
        (("a", "${ONE:-d}"), ("a", "${ONE:-d}")),
        (("a", "$ONE/x", "$"), ("a",)),
        (("a", "$ODD"), ("a", "a\\", "xty", "its open")),
    ],
)
def test_variables_are_put_in_as_systemd_does_before_the_start(
    argv: tuple[str, ...], expanded: tuple[str, ...]
) -> None:
    assert expand(argv, {"ONE": "one", "TWO": "1 '2 3'", "ODD": 'a\\\\ x\\ty it"s open'}) == expanded


@given(st.text(max_size=200), st.text(alphabet="$%\\\"' ;[]=\nA", max_size=60))
def test_any_text_is_read(text: str, odd: str) -> None:
    read = unit(
        f"[Service]\nExecStart={odd}\n{text}", f"[Service]\nExecStart=/bin/a {odd}\nEnvironment={odd}\n"
    )
    for command in read.exec_start:
        assert len(command.argv) == len(command.lines)
        expand(command.argv, {"A": odd})


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12), max_size=6
    )
)
def test_any_arguments_survive_quoting(arguments: list[str]) -> None:
    def quoted(text: str) -> str:
        # systemd looks for specifiers after it has read escapes, so an escaped percent sign is still one.
        coded = "".join(f"\\x{byte:02x}" for byte in text.replace("%", "%%").encode())
        return f'"{coded}"'

    assert argvs(f"[Service]\nExecStart=/bin/a {' '.join(map(quoted, arguments))}\n") == [
        ("/bin/a", *arguments)
    ]


@pytest.mark.parametrize(
    "case, unit",
    [
        ("template", "llm-serve@a-b.service"),
        ("odd-commands", "odd.service"),
        ("emptied", "x-y.service"),
    ],
)
def test_the_files_come_to_what_the_manager_loaded_from_them(case: str, unit: str) -> None:
    files = UNIT_FILES.parse(reply(CASES / "unit-files" / case))
    loaded = LOADED_COMMAND.parse(reply(CASES / "loaded-command" / case))
    assert isinstance(files, Value)
    assert isinstance(loaded, Value)
    disk = effective(files.value, unit)
    comparable = [
        (command.argv, held)
        for command, held in zip(disk.exec_start, loaded.value.exec_start, strict=True)
        if "%q is resolved by the host only" not in command.notes
    ]
    assert [ours for ours, _ in comparable] == [theirs for _, theirs in comparable]
    assert {name: found.value for name, found in disk.environment.items()} == loaded.value.environment
    assert disk.environment_files == loaded.value.environment_files
