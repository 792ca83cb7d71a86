from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeAlias

import pytest

from pytest_dflash.errors import ProfileError
from pytest_dflash.profile.loader import LoadedProfile, load

Write: TypeAlias = Callable[..., Path]
SERVICE = '[service]\nunit = "sglang.service"\nengine = "sglang"\n'
ROOT = Path(__file__).parents[2]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "p.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(ProfileError) as caught:
        load(path, **options)  # type: ignore[arg-type]  # host and expect, by name
    return str(caught.value)


def test_the_profile_of_the_story_loads() -> None:
    loaded = load(ROOT / "dflash.toml", host="10.1.2.200")
    profile = loaded.profile
    assert not loaded.reviewed  # an example vouches for nobody's host
    assert profile.service.unit == "sglang-k26-ddtree.service"
    assert profile.window.tokens == 2048
    assert profile.window.via == "flag"
    assert profile.flags["disable-cuda-graph"] is False
    assert profile.tree.budgets == (1, 3, 7, 8, 15, 16, 31)
    assert profile.throughput[0].text_class == "prose"


def test_all_tables_but_service_may_be_left_out(write: Write) -> None:
    profile = load(write(SERVICE)).profile
    assert profile.window.tokens is None
    assert profile.stack.packages == {}
    assert profile.exposure.key_required is None
    assert profile.service.ready_timeout_s == 900


def test_the_hash_is_that_of_the_file(write: Write) -> None:
    path = write(SERVICE)
    assert load(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_byte_order_mark_does_not_matter(write: Write) -> None:
    assert load(write("\ufeff" + SERVICE)).profile.service.engine == "sglang"


def test_a_recorded_profile_is_not_reviewed(write: Write) -> None:
    assert not load(write("reviewed = false\n" + SERVICE)).reviewed


REFUSALS = {
    "unknown table": (
        "[windw]\ntokens = 3",
        "windw: unknown key; did you mean window? Known here: reviewed, ",
    ),
    "unknown key": (
        "[window]\ntokns = 3",
        "window.tokns: unknown key; did you mean tokens? Known here: tokens, via",
    ),
    "text for a number": (
        '[window]\ntokens = "2048"',
        'window.tokens: must be a whole number, found "2048" (text)',
    ),
    "fraction": (
        "[window]\ntokens = 2048.5",
        "window.tokens: must be a whole number, found 2048.5 (a number)",
    ),
    "switch for a number": ("[window]\ntokens = true", "window.tokens: must be a whole number, found true"),
    "negative": ("[window]\ntokens = -1", "window.tokens: must be at least 1, found -1 (a number)"),
    "via": (
        '[window]\ntokens = 1\nvia = "sorcery"',
        "window.via: must be 'flag', 'native' or 'either', found \"sorcery\" (text)",
    ),
    "port 0": (
        '[endpoint]\nurl = "http://h:0/v1"',
        "endpoint.url: must be an http or https address without user",
    ),
    "no scheme": ('[endpoint]\nurl = "10.1.2.200:30000"', "endpoint.url: must be an http or https address"),
    "port too high": ('[endpoint]\nurl = "http://h:65536"', "endpoint.url: must be an http or https address"),
    "no host": ('[endpoint]\nurl = "http://a..b"', "endpoint.url: must be an http or https address"),
    "regex": (
        '[endpoint]\nexpect = "(ready"',
        "endpoint.expect: must be a regular expression; it is none: missing ), unterminated subpattern",
    ),
    "specifier": (
        '[stack.packages]\ntorch = "2.9"',
        'stack.packages.torch: must be a version specifier as in PEP 440, such as ">=2.9" or "==0.5.*", found "2.9"',
    ),
    "empty specifier": ('[stack]\ndriver = ""', "stack.driver: must be a version specifier"),
    "number for text": (
        "[stack]\ncompute_capability = 12.0",
        "stack.compute_capability: must be text in quotation marks, found 12.0 (a number)",
    ),
    "dashes": (
        '[flags]\n"--tp-size" = 8',
        'flags.--tp-size: must be spelled as on the command line, without the dashes, such as "tp-size"',
    ),
    "blank in a flag": ('[flags]\n"tp size" = 8', 'flags."tp size": must be spelled as on the command line'),
    "two spellings": (
        "[flags]\ntp-size = 8\ntp_size = 4",
        "flags: must name each flag once; 'tp-size' stands there in two spellings",
    ),
    "date for a flag": ("[flags]\nx = 2027-01-31", "flags.x: must be true, false, a number, text, or a list"),
    "nan for a flag": ("[flags]\nx = nan", "flags.x: must be true, false, a number, text, or a list"),
    "number for a variable": (
        "[environment]\nNCCL_DEBUG = 1",
        "environment.NCCL_DEBUG: must be text (in quotation marks, also a number), or false: must be absent, found 1",
    ),
    "budget": ("[tree]\nbudgets = [1, 0]", "tree.budgets[1]: must be at least 1, found 0"),
    "budgets of floats": ("[tree]\nbudgets = [1.0]", "tree.budgets[0]: must be a whole number, found 1.0"),
    "topks alone": ("[tree]\ntopks = [1]", "tree: has topks but no topk_flag"),
    "range": (
        "[tree]\naccept_length = { min = 8, max = 2.5 }",
        "tree.accept_length: must have min (8) not above max (2.5)",
    ),
    "empty range": ("[tree]\naccept_length = {}", "tree.accept_length: must have min or max"),
    "list for a table": ("window = [3]", "window: must be a table, found a list"),
    "table for a list": ("[throughput]\nname = 'x'", "throughput: must be a list, found a table"),
    "missing in a list": ("[[throughput]]\nname = 'x'", "throughput[0].class: is missing"),
    "witness": (
        '[witnesses]\noptional = ["oracle"]',
        "witnesses.optional[0]: must be 'unit_file', 'loaded_unit'",
    ),
    "lease": (
        "[lifecycle]\nready_within_s = 600\nlease_s = 900",
        "lifecycle: has lease_s 900, which must outlast the engine's start twice: at least 1200",
    ),
    "bind": ('[exposure]\nbind = "everywhere"', "exposure.bind: must be an IP address"),
    "drain": (
        '[traffic]\ndrain = ["x"]',
        "traffic: has drain but no undrain: the host would never be put back",
    ),
    "gate": (
        '[gate]\nrequire = ["windows.*"]',
        'gate.require[0]: must be "area.name", wildcards allowed; the areas',
    ),
    "waiver day": (
        '[[waivers]]\ncheck = "gpu.x"\nreason = "r"\nexpires = "2027-01-31"',
        'waivers[0].expires: must be a day, not in quotation marks, such as 2027-01-31, found "2027-01-31" (text)',
    ),
    "waiver time": (
        '[[waivers]]\ncheck = "gpu.x"\nreason = "r"\nexpires = 2027-01-31T00:00:00Z',
        "waivers[0].expires: must be a day",
    ),
    "waiver reason": (
        '[[waivers]]\ncheck = "gpu.x"\nreason = " "\nexpires = 2027-01-31',
        "waivers[0].reason: must not be blank",
    ),
    "infinite": ("[gpu]\npower_limit_w = inf", "gpu.power_limit_w: must be a finite number, found inf"),
    "width": ("[gpu]\npcie_width = 3", "gpu.pcie_width: must be 1, 2, 4, 8, 16 or 32, found 3"),
    "hosts": ("hosts = 3", "hosts: must be a table of patterns"),
    "host pattern": ("[hosts]\ngpu2 = 3", "hosts.gpu2: must be a table of the keys that differ"),
    "extends": ("extends = 3", "extends: must be the path of a profile"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_names_file_key_what_is_allowed_and_what_was_found(case: str, write: Write) -> None:
    text, said = REFUSALS[case]
    # A bare key stands before the first table.
    path = write(text + "\n" + SERVICE)
    message = refusal(path)
    assert message.startswith(f"{path}: {said}")
    for jargon in ("Input should", "Value error", "pydantic", "Extra inputs", "valid", "type="):
        assert jargon not in message


@pytest.mark.parametrize(
    "unit", ["sglang", "sglang.timer", "/etc/systemd/system/a.service", "a b.service", ""]
)
def test_a_unit_has_its_suffix_and_no_path(unit: str, write: Write) -> None:
    message = refusal(write(f'[service]\nunit = "{unit}"\nengine = "sglang"'))
    assert "service.unit: must be the name of a service unit, suffix included and no path" in message


def test_a_profile_without_service_is_told_how_one_begins(write: Write) -> None:
    assert refusal(write("")).endswith(
        "p.toml: service: is missing; a profile begins with [service], which has unit and engine"
    )


def test_everything_wrong_is_said_at_once(write: Write) -> None:
    message = refusal(write(SERVICE + "[window]\ntokens = 0\n[gpu]\ncount = 0\nnmae = 'x'"))
    assert len(message.splitlines()) == 3


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert refusal(path) == f"{path}: cannot be read as a profile: No such file or directory"


def test_a_folder_is_no_profile(tmp_path: Path) -> None:
    assert "Is a directory" in refusal(tmp_path)


def test_malformed_toml_is_located(write: Write) -> None:
    assert "it is not TOML" in (message := refusal(write("[service]\nunit = \n")))
    assert "at line 2, column 8" in message


def test_other_encodings_are_located(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"# a\n# \xff\n")
    assert refusal(path).endswith("it is not UTF-8 (at line 2)")


SECRETS = [
    '[endpoint]\napi_key = "sesame-sesame"',
    '[endpoint]\napi_key_env = "sesame-sesame"',
    '[flags]\napi-key = "sesame-sesame"',
    '[flags]\nadmin_api_key = "sesame-sesame"',
    '[flags]\nssl-keyfile-password = "sesame-sesame"',
    '[flags]\napi-key = ["sesame-sesame"]',
    '[environment]\nHF_TOKEN = "sesame-sesame"',
    '[endpoint]\nurl = "http://user:sesame-sesame@h:1/v1"',
    '[flags]\nmodel-path = "https://user:sesame-sesame@h/x"',
    '[traffic]\ndrain = ["curl", "-H", "Authorization: Bearer sesame-sesame"]',
    '[hosts."*".environment]\nHF_TOKEN = "sesame-sesame"',
    'password = "sesame-sesame"',
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_refused_and_not_shown(text: str, write: Write) -> None:
    message = refusal(write(text + "\n" + SERVICE))
    assert "holds a secret, which a profile must not; it is not shown here" in message
    assert "sesame" not in message


def test_a_secret_on_the_command_line_is_refused_and_not_shown(write: Write) -> None:
    message = refusal(write(SERVICE), expect=["flags.api-key=sesame-sesame"])
    assert message.startswith("--dflash-expect: flags.api-key: holds a secret")
    assert "sesame" not in message


def test_names_that_only_sound_like_secrets_are_none(write: Write) -> None:
    text = (
        '[flags]\ntokenizer-path = "/m"\nspeculative-token-map = "/m/t.pt"\nmax-total-tokens = 9\n'
        '[environment]\nHF_TOKEN = false\n[endpoint]\napi_key_env = "DFLASH_API_KEY"\n'
    )
    assert load(write(SERVICE + text)).profile.environment == {"HF_TOKEN": False}


class TestExtends:
    def test_tables_are_merged_deeply_and_lists_replaced(self, write: Write) -> None:
        write(SERVICE + "[tree]\nbudgets = [1, 3]\n[window]\ntokens = 7\nvia = 'flag'\n", "base.toml")
        loaded = load(write('extends = "base.toml"\n[tree]\nbudgets = [9]\n[window]\ntokens = 8\n'))
        assert loaded.profile.tree.budgets == (9,)
        assert loaded.profile.window.tokens == 8
        assert loaded.profile.window.via == "flag"

    def test_each_key_knows_who_said_it(self, write: Write) -> None:
        base = write(SERVICE + "[window]\nvia = 'flag'\n", "base.toml")
        path = write('extends = "base.toml"\n[window]\ntokens = 8\n')
        loaded = load(path, expect=["gpu.count=2"])
        assert loaded.sources == {
            "service.unit": str(base),
            "service.engine": str(base),
            "window.via": str(base),
            "window.tokens": str(path),
            "gpu.count": "--dflash-expect",
        }
        assert loaded.bases == {str(base): hashlib.sha256(base.read_bytes()).hexdigest()}

    def test_it_is_relative_to_the_file(self, write: Write, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        write(SERVICE + '[endpoint]\nca_file = "ca.pem"\n', "base.toml")
        path = write('extends = "../base.toml"\n', "sub/p.toml")
        assert load(path).profile.endpoint.ca_file == str(tmp_path / "ca.pem")

    def test_a_circle_is_refused(self, write: Write) -> None:
        write('extends = "p.toml"\n', "base.toml")
        message = refusal(write('extends = "base.toml"\n'))
        assert "extends: must not lead back to itself" in message
        assert message.count(" extends ") == 2

    def test_a_missing_base_names_who_asked(self, write: Write) -> None:
        path = write('extends = "base.toml"\n')
        assert f"base.toml: cannot be read as a profile (extended by {path})" in refusal(path)

    def test_a_fault_of_the_base_is_told_of_the_base(self, write: Write) -> None:
        base = write(SERVICE + "[window]\ntokens = 0\n", "base.toml")
        assert refusal(write('extends = "base.toml"\n')).startswith(
            f"{base}: window.tokens: must be at least 1"
        )


class TestHosts:
    TEXT = SERVICE + ('[gpu]\ncount = 8\n[hosts."gpu2*".gpu]\ncount = 4\n[hosts.gpu21.gpu]\ncount = 2\n')

    @pytest.mark.parametrize("host, count", [(None, 8), ("gpu1", 8), ("gpu22", 4), ("gpu21", 2)])
    def test_the_last_pattern_that_fits_wins(self, host: str | None, count: int, write: Write) -> None:
        assert load(write(self.TEXT), host=host).profile.gpu.count == count

    def test_the_source_names_the_pattern(self, write: Write) -> None:
        path = write(self.TEXT)
        assert load(path, host="gpu22").sources["gpu.count"] == f'{path} [hosts."gpu2*"]'

    def test_a_pattern_for_another_host_is_read_as_strictly(self, write: Write) -> None:
        path = write(SERVICE + '[hosts."gpu2*".gpu]\ncont = 4\n')
        message = refusal(path, host="elsewhere")
        assert message.startswith(f'{path} [hosts."gpu2*"]: gpu.cont: unknown key; did you mean count?')

    def test_a_host_may_complete_what_is_missing_for_all(self, write: Write) -> None:
        text = '[service]\nengine = "sglang"\n[hosts.a.service]\nunit = "a.service"\n'
        assert load(write(text), host="a").profile.service.unit == "a.service"
        assert "service.unit: is missing" in refusal(write(text), host="b")

    @pytest.mark.parametrize("key", ["reviewed = true", 'extends = "x"', "hosts = {}"])
    def test_what_is_for_all_hosts_is_no_key_of_a_pattern(self, key: str, write: Write) -> None:
        assert "stands at the top of a profile, for all hosts" in refusal(
            write(SERVICE + f"[hosts.a]\n{key}\n")
        )


class TestExpect:
    @pytest.fixture
    def loaded(self, write: Write) -> Callable[..., LoadedProfile]:
        return lambda *expect: load(write(SERVICE + "[window]\ntokens = 2048\n"), host="a", expect=expect)

    def test_a_number(self, loaded: Callable[..., LoadedProfile]) -> None:
        assert loaded("window.tokens=4096").profile.window.tokens == 4096

    def test_quoted_text(self, loaded: Callable[..., LoadedProfile]) -> None:
        assert loaded('stack.packages.torch=">=2.9"').profile.stack.packages == {"torch": ">=2.9"}

    def test_bare_text(self, loaded: Callable[..., LoadedProfile]) -> None:
        profile = loaded("stack.packages.flashinfer-python=>=0.6", "service.unit=other.service").profile
        assert profile.stack.packages == {"flashinfer-python": ">=0.6"}
        assert profile.service.unit == "other.service"

    def test_a_key_with_dots(self, loaded: Callable[..., LoadedProfile]) -> None:
        assert loaded('flags."a.b"=true').profile.flags == {"a.b": True}

    def test_a_list(self, loaded: Callable[..., LoadedProfile]) -> None:
        assert loaded("tree.budgets=[1, 2]").profile.tree.budgets == (1, 2)

    def test_the_last_one_wins(self, loaded: Callable[..., LoadedProfile]) -> None:
        assert loaded("window.tokens=1", "window.tokens=2").profile.window.tokens == 2

    def test_a_path_is_relative_to_the_working_directory(self, loaded: Callable[..., LoadedProfile]) -> None:
        assert loaded("endpoint.ca_file=ca.pem").profile.endpoint.ca_file == str(Path.cwd() / "ca.pem")

    def test_a_line_break_smuggles_no_second_key(self, loaded: Callable[..., LoadedProfile]) -> None:
        profile = loaded("service.served_model=1\nreviewed = false").profile
        assert profile.reviewed
        assert profile.service.served_model == "1\nreviewed = false"

    @pytest.mark.parametrize(
        "text, said",
        [
            ("window.tokns=1", "--dflash-expect: window.tokns: unknown key; did you mean tokens?"),
            ("hosts.a.gpu.count=1", "--dflash-expect: hosts: unknown key. Known here: reviewed, service"),
            ("window=1", "--dflash-expect: window: must be a table, found 1 (a number)"),
            (
                "window.tokens",
                "--dflash-expect: 'window.tokens' must be KEY=VALUE, such as window.tokens=4096",
            ),
            ("=1", "--dflash-expect: '=1' must be KEY=VALUE"),
            ("a b=1", "--dflash-expect: 'a b' is no key; write table.key"),
            ("window..tokens=1", "--dflash-expect: 'window..tokens' is no key"),
        ],
    )
    def test_what_cannot_be_expected_is_refused(
        self, text: str, said: str, loaded: Callable[..., LoadedProfile]
    ) -> None:
        with pytest.raises(ProfileError) as caught:
            loaded(text)
        assert str(caught.value).startswith(said)


def test_a_waiver_has_its_last_day(write: Write) -> None:
    text = SERVICE + '[[waivers]]\ncheck = "gpu.x"\nreason = "ticket 1"\nexpires = 2027-01-31\n'
    assert load(write(text)).profile.waivers[0].expires == date(2027, 1, 31)


def test_a_profile_cannot_be_changed(write: Write) -> None:
    profile = load(write(SERVICE)).profile
    with pytest.raises(ValueError, match="frozen"):
        profile.reviewed = False
