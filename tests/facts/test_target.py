"""SPEC: every form, and everything that could act by itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.errors import UsageError
from pytest_dflash.facts.target import Target, parse_spec, parse_specs


@pytest.mark.parametrize(
    "spec,expected",
    [
        ("10.1.2.200", Target(scheme="ssh", name="10.1.2.200", host="10.1.2.200")),
        ("root@gpu1:2222", Target(scheme="ssh", name="gpu1:2222", host="gpu1", user="root", port=2222)),
        ("[::1]:22", Target(scheme="ssh", name="[::1]:22", host="::1", port=22)),
        ("[fe80::1]", Target(scheme="ssh", name="[fe80::1]", host="fe80::1")),
        ("::1", Target(scheme="ssh", name="::1", host="::1")),
        ("me@::1", Target(scheme="ssh", name="::1", host="::1", user="me")),
        (
            "ssh://me@gpu-1.example.org:22",
            Target(scheme="ssh", name="gpu-1.example.org:22", host="gpu-1.example.org", user="me", port=22),
        ),
        (
            "me@corp.example@jump_host",
            Target(scheme="ssh", name="jump_host", host="jump_host", user="me@corp.example"),
        ),
        ("local://", Target(scheme="local", name="local")),
        ("docker://web_1", Target(scheme="docker", name="web_1", host="web_1")),
        ("podman://app@c0ffee", Target(scheme="podman", name="c0ffee", host="c0ffee", user="app")),
        ("ansible://gpu:&prod*", Target(scheme="ansible", name="gpu:&prod*", host="gpu:&prod*")),
        ("rehearsal", Target(scheme="rehearsal", name="rehearsal")),
    ],
)
def test_each_form_is_read(spec: str, expected: Target) -> None:
    assert parse_spec(spec) == expected


def test_several_hosts_come_comma_separated_and_repeated_in_this_order() -> None:
    assert [target.name for target in parse_specs(["gpu2,gpu1", "gpu3, gpu1"])] == ["gpu2", "gpu1", "gpu3"]


@pytest.mark.parametrize(
    "specs,message",
    [
        ([""], "has an empty name; it takes 10.1.2.200, root@gpu1:2222"),
        (["gpu1,"], "has an empty name"),
        (["-oProxyCommand=touch x"], "begins with a dash"),
        (["root@-oProxyCommand=x"], "begins with a dash"),
        (["ssh://-oProxyCommand=x"], "begins with a dash"),
        (["-l@gpu1"], "begins with a dash"),
        (["gpu 1"], "blanks or control characters"),
        (["gpu1\nProxyCommand x"], "gpu1\\?ProxyCommand x holds blanks or control characters"),
        (["gpu1\t"], "blanks or control characters"),
        (["gpu1\x1b[31m"], "blanks or control characters"),
        (["gpu\u00a01"], "blanks or control characters"),
        (["root:hunter2@gpu1"], "carries a password"),
        (["ssh://root:hunter2@gpu1:22"], "carries a password"),
        (["gpu1:0"], "from 1 to 65535, found '0'"),
        (["gpu1:65536"], "from 1 to 65535"),
        (["gpu1:"], "from 1 to 65535, found ''"),
        (["gpu1:²"], "from 1 to 65535"),
        (["[::1]:x"], "from 1 to 65535"),
        (["[::1"], "written \\[::1\\]:22"),
        (["[gpu1]:22"], "gpu1 is no IPv6 address"),
        (["fe80::1%eth0"], "give it an alias in the ssh config"),
        (["paramiko://gpu1"], "unknown scheme 'paramiko'"),
        (["gpu1$(touch x)"], "no address, host name or alias|blanks"),
        (["gpu1$(id)"], "no address, host name or alias"),
        (["gpu1`id`"], "no address, host name or alias"),
        (["gpu1;id"], "no address, host name or alias"),
        (["gpu1|id"], "no address, host name or alias"),
        (["%h"], "no address, host name or alias"),
        (["gpu\\1"], "no address, host name or alias"),
        (["gpu'1"], "no address, host name or alias"),
        (["$(id)@gpu1"], "no usable user"),
        (["@gpu1"], "no usable user"),
        (["gpu1/path?sudo=true"], "no address, host name or alias"),
        (["local://x"], "takes no name"),
        (["docker://"], "name or id of a running container"),
        (["docker://a b"], "blanks"),
        (["ansible://"], "group or host of the inventory"),
        (["rehearsal", "gpu1"], "stands alone"),
        (["root@gpu1", "me@gpu1"], "names gpu1 twice, in different ways"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(specs: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        parse_specs(specs)
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=40))
def test_whatever_passes_holds_nothing_that_could_act(spec: str) -> None:
    try:
        targets = parse_specs([spec])
    except UsageError:
        return
    for target in targets:
        for part in (target.host, target.user or "", target.name):
            assert re.fullmatch(r"[A-Za-z0-9_.+:&*@\[\]-]*", part)
            assert not part.startswith("-")
