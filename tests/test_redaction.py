"""Secrets: where they are found, and that none survives."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.redaction import MASK, MOST, Redactor, Yaml, carries_secret

KEY = "sk-4f9a0c77d1"


@pytest.mark.parametrize(
    "source",
    [
        ("python", "-m", "sglang.launch_server", "--api-key", KEY, "--tp-size", "8"),
        ("vllm", "serve", "--api-key", "other-key-1", KEY, "--port", "8000"),
        (f"--admin-api-key={KEY}",),
        f"python\0-m\0x\0--api-key\0{KEY}\0--port\0".encode(),
        f"A=b\0VLLM_API_KEY={KEY}\0C=d\0",
        f"ExecStart=/x/python -m x --api-key {KEY} \\\n  --tp-size 8",
        f"ExecStart=/x/python -m x --api-key '{KEY}'",
        f'Environment="SGLANG_API_KEY={KEY}"',
        f"export HF_TOKEN={KEY}",
        {"HF_TOKEN": KEY},
        {"server_args": [{"api_key": KEY}]},
        {"api_key": [KEY, "other-key-1"]},
        f"server_args=ServerArgs(model_path='m', api_key='{KEY}', port=1)",
        f"server_args={{'model_path': 'm', 'api_key': '{KEY}'}}",
        f"non-default args: {{'api_key': ['other-key-1', '{KEY}']}}",
        json.dumps({"api_key": KEY}),
        json.dumps({"MESSAGE": json.dumps({"api_key": KEY})}),
        f"Authorization: Bearer {KEY}",
        f"curl -H 'Authorization: Bearer {KEY}' http://x",
        f"curl -H 'X-Api-Key: {KEY}' http://x",
        f"> authorization: {KEY}",
        f"config:\n  api-key: {KEY}\n  port: 1\n",
        f"pulling https://user:{KEY}@registry.example/v2",
        f'["--api-key", "{KEY}"]',
        {"DB_PASSWORD": KEY},
        {"X-Client-Secret": KEY},
        f"DB_PASS={KEY}",
        f"SGLANG_AUTH={KEY}",
        f"smtp passwd={KEY}",
        f'{{"passphrase": "{KEY}"}}',
        {"AWS_CREDENTIALS": KEY},
    ],
)
def test_a_secret_is_learnt_from_wherever_it_stands(source: object) -> None:
    redactor = Redactor()
    redactor.learn(source)
    assert redactor.mask(f"POST {KEY} 200") == f"POST {MASK} 200"


ISSUED = (
    "sk-proj-4f9a0c77d1aaBBcc",
    "hf_4f9a0c77d1aaBBccXyZ",
    "ghp_4f9a0c77d1aaBBccXyZ",
    "glpat-4f9a0c77d1aaBBcc",
)


@pytest.mark.parametrize("key", ISSUED)
@pytest.mark.parametrize("text", ["retry with {} failed", "cloning https://{}@git.example/x", "({})"])
def test_a_key_that_its_issuer_marked_is_learnt_without_any_name(key: str, text: str) -> None:
    redactor = Redactor()
    assert redactor.guard(text.format(key)) == text.format(MASK)
    assert redactor.mask(key) == MASK


@pytest.mark.parametrize(
    "text",
    [
        "hf_hub_enable_fast_transfer is set",
        "git@github.example:x and https://git@github.example/x",
        "PASS_THROUGH=something-else bypass=whatever1 COMPASS=north-north",
        "/etc/passwd is readable",
        "passed=something1 two_passes=something2",
    ],
)
def test_words_that_only_look_like_it_stay(text: str) -> None:
    assert Redactor().guard(text) == text


@pytest.mark.parametrize(
    "source",
    [
        {"tokenizer_path": "/srv/models/Kimi-K2.6", "tokenizer_backend": "huggingface"},
        {"tokenizer_special_tokens": "model_default", "max_total_tokens": "1048576.0"},
        ("--tokenizer-path", "moonshotai/Kimi-K2.6", "--max-total-tokens", "10000000"),
        {"mask_token": "<|MASK|>", "ssl_keyfile": "/etc/ssl/private/key.pem"},
        "Missing key: speculative_draft_window_size",
        "  --api-key API_KEY  Set API key\n  --max-total-tokens MAX_TOTAL_TOKENS\n",
        "Decode batch, #token: 34, token usage: 0.00, gen throughput (token/s): 61.23456",
        "api_key=None, admin_api_key=None, enable_tokenizer_batch_encode=False",
        {"api_key": "short"},
        '"watermark_key":"<redacted>","watermark_key_block":null',
    ],
)
def test_settings_that_are_no_secrets_stay_readable(source: object) -> None:
    redactor = Redactor()
    assert redactor.guard(source) == source
    assert redactor.mask("huggingface model_default speculative_draft_window_size MAX_TOTAL_TOKENS") == (
        "huggingface model_default speculative_draft_window_size MAX_TOTAL_TOKENS"
    )


@pytest.mark.parametrize(
    "name", ["api_key", "HF_TOKEN", "--api-key", "Authorization", "x-secret", "PASSWORD", "OPENAI_APIKEY"]
)
def test_these_names_carry_secrets(name: str) -> None:
    assert carries_secret(name)


@pytest.mark.parametrize(
    "name", ["tokenizer-path", "skip_tokenizer_init", "detokenizer_worker_num", "model", "port"]
)
def test_these_names_carry_none(name: str) -> None:
    assert not carries_secret(name)


def test_a_key_known_beforehand_is_hidden_whatever_its_name() -> None:
    assert Redactor(["hunter2"]).mask("say hunter2 twice: hunter2") == "say **** twice: ****"


def test_a_known_key_too_short_to_hide_does_not_shred_the_text() -> None:
    assert Redactor(["", "a"]).mask("a plain answer") == "a plain answer"


BEGUN_LIKE_A_PATH = "/9j4AAQSkZJRgABAQEAYABgAAD2wCEAAgGBgcGBQgH"


@pytest.mark.parametrize("key", [BEGUN_LIKE_A_PATH, "8273645182736451", "~/9j4AAQSkZJRg", "./abcdefgh12"])
@pytest.mark.parametrize(
    "told",
    [
        "--admin-api-key {}",
        "API_KEY={}",
        "api_key: {}",
        "api_key = {}",
        '{{"api_key": "{}"}}',
        "x-api-key: {}",
    ],
)
def test_a_name_that_ends_in_key_holds_a_key_whatever_it_looks_like(key: str, told: str) -> None:
    redactor = Redactor()
    redactor.learn(told.format(key))
    assert redactor.mask(f"GET /{key}") == f"GET /{MASK}"
    assert Redactor().guard(("x", "--api-key", key)) == ("x", "--api-key", MASK)
    assert Redactor().guard({"api_key": key}) == {"api_key": MASK}


@pytest.mark.parametrize(
    "source",
    [
        {"api_key": "/run/secrets/api_key", "ssl_key": "/etc/ssl/private/host.key"},
        "--api-key-file /abcdefgh/keys --ssl-keyfile /srv9/tls/host.pem",
        {"kv_bytes_per_token": "1048576.0", "mask_token": "<|MASK_TOKEN|>", "hf_token_path": "/x/y/z/token"},
    ],
)
def test_files_and_counts_under_such_names_stay_readable(source: object) -> None:
    assert Redactor().guard(source) == source


@pytest.mark.parametrize(
    "told",
    [
        "LLAMA_API_KEY=abcdefgh1,zyxwvu654321",
        "llama-server --api-key abcdefgh1,zyxwvu654321 --port 1",
        "Environment=LLAMA_API_KEY=abcdefgh1,zyxwvu654321",
        "--api-key=abcdefgh1,zyxwvu654321",
        "LLAMA_API_KEY='abcdefgh1,zyxwvu654321'",
    ],
)
def test_of_several_keys_in_one_value_each_is_hidden(told: str) -> None:
    redactor = Redactor()
    redactor.learn(told)
    assert redactor.mask("refused zyxwvu654321, took abcdefgh1") == f"refused {MASK}, took {MASK}"
    assert "zyxwvu" not in Redactor().guard(told)


def test_a_field_behind_a_key_is_no_key() -> None:
    told = Redactor().guard("ServerArgs(api_key=abcdefgh1,served_name=kimi-of-today)")
    assert told == f"ServerArgs(api_key={MASK},served_name=kimi-of-today)"


def test_a_key_with_blanks_is_hidden_up_to_its_quote() -> None:
    unit = 'Environment="A=1" "API_KEY=abcd efgh ijkl" "B=two words"\nExecStart=/x --port 1\n'
    assert (
        Redactor().guard(unit) == f'Environment="A=1" "API_KEY={MASK}" "B=two words"\nExecStart=/x --port 1\n'
    )


def test_a_credential_of_the_unit_is_a_key() -> None:
    assert Redactor().guard("SetCredential=api-key:abcdefgh1\n") == f"SetCredential=api-key:{MASK}\n"


def test_a_key_in_an_address_is_known_without_what_follows_it() -> None:
    redactor = Redactor()
    redactor.learn("GET /v1?api_key=abcdefgh1&x=1")
    assert redactor.mask("who sent abcdefgh1?") == f"who sent {MASK}?"


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    argv: tuple[str, ...]
    environ: Value[dict[str, str]] | Silent


def test_values_are_masked_down_to_the_last_field_and_keep_their_types() -> None:
    process = _Process(7, ("x", "--api-key", KEY), Value({"API_KEY": KEY, "N": "1"}, f"/proc/7 {KEY}"))
    assert Redactor().guard({"processes": Value((process,)), "bad": Silent(f"no {KEY}")}) == {
        "processes": Value(
            (_Process(7, ("x", "--api-key", MASK), Value({"API_KEY": MASK, "N": "1"}, "/proc/7 ****")),)
        ),
        "bad": Silent("no ****"),
    }


def test_a_value_without_secrets_is_the_same_object() -> None:
    redactor = Redactor([KEY])
    value = _Process(7, ("x",), Silent("no"))
    assert redactor.mask(value) is value


def test_escaped_and_encoded_spellings_are_hidden() -> None:
    secret = 'p"ss/wörd +\\x'
    redactor = Redactor([secret])
    for spelling in (
        json.dumps({"k": secret}),
        json.dumps(json.dumps(secret)),
        json.dumps(secret, ensure_ascii=False),
        repr(secret),
        f"http://x/?k={quote(secret, safe='')}",
        base64.b64encode(secret.encode()).decode(),
        secret.encode(),
    ):
        assert MASK in str(redactor.mask(spelling)), spelling


def test_a_longer_secret_does_not_leave_its_tail_behind_a_shorter_one() -> None:
    assert Redactor(["abcdefgh", "abcdefgh-ijkl"]).mask("x abcdefgh-ijkl y") == "x **** y"


SECRETS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters="*"), min_size=8, max_size=40
)


@given(SECRETS, st.text(), st.text())
def test_no_known_secret_survives_and_masking_again_changes_nothing(
    secret: str, before: str, after: str
) -> None:
    redactor = Redactor([secret])
    masked = redactor.mask(before + secret + after)
    assert secret not in masked
    assert redactor.mask(masked) == masked
    assert secret.encode() not in redactor.mask((before + secret + after).encode("utf-8", "surrogatepass"))


@given(st.binary(), st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.text()))
def test_anything_can_be_learnt_from(data: bytes, text: str, words: list[str], pairs: dict[str, str]) -> None:
    redactor = Redactor()
    for source in (data, text, words, pairs, b"api_key=" + data, "--api-key " + text, ["--token", *words]):
        redactor.learn(source)
    redactor.mask([data, text, words, pairs])


@given(SECRETS)
def test_whatever_stands_behind_a_flag_in_argv_is_hidden_unless_harmless(secret: str) -> None:
    redactor = Redactor()
    argv = redactor.guard(("x", "--api-key", "k" + secret))
    assert argv == ("x", "--api-key", MASK)


def test_a_flood_of_secrets_is_hidden_where_each_is_named() -> None:
    flood = "\n".join(f"session token=abcdefgh{n:04x} and api_key='ijklmnop{n:04x}'" for n in range(2 * MOST))
    redactor = Redactor([KEY])
    told = redactor.guard({"log": flood, "info": {"hf_token": "qrstuvwx-never-learnt"}, "said": f"so {KEY}"})
    assert str(told["log"]).splitlines()[-1] == f"session token={MASK} and api_key='{MASK}'"
    assert told["info"] == {"hf_token": MASK}
    assert told["said"] == f"so {MASK}"


def test_a_line_of_any_length_is_no_key_and_is_read_once() -> None:
    assert Redactor().guard("key=" * 100_000) == "key=" * 100_000


def test_a_key_on_the_line_that_continues_its_flag_is_one() -> None:
    unit = f"ExecStart=/opt/engine --admin-api-key \\\n    {KEY} \\\n    --port 30000\n"
    told = Redactor().guard(unit)
    assert KEY not in told
    assert "--port 30000" in told


@pytest.mark.parametrize(
    "text",
    [
        f"port: 8000\napi-key: {KEY}\n",
        f"port: 8000\napi-key:\n  - {KEY}\n  - {KEY}b\n",
        f"port: 8000\napi-key: [{KEY}, {KEY}b]\n",
        f"port: 8000\napi-key: >-\n  {KEY}\n",
        f"a:\n  hf-token: '{KEY}'\nport: 8000\n",
    ],
)
def test_a_key_in_a_file_of_settings_is_one_whatever_lines_it_stands_on(text: str) -> None:
    told = Redactor().guard({"/etc/engine.yaml": Yaml(text)})["/etc/engine.yaml"]
    assert KEY not in told
    assert "port: 8000" in told


def test_a_file_of_settings_that_is_none_is_read_as_text() -> None:
    for text in (f"api_key: {KEY}\n\t{{", "a: &a [*a, *a]\nb: *a\n", "[" * 5000, ""):
        assert KEY not in Redactor().guard(Yaml(text))


@pytest.mark.parametrize(
    "text",
    [
        "--speculative-token-map thunlp/LLaMA3-Instruct-8B-FR-Spec/freq_32768.pt",
        '{"eos_token": "<\uff5cend\u2581of\u2581sentence\uff5c>"}',
    ],
)
def test_a_table_of_tokens_and_a_special_token_are_no_keys(text: str) -> None:
    assert Redactor().guard(text) == text
