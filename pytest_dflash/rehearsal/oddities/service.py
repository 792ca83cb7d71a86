"""Services, logs and testers that are unusual and right.

Law: a table.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import layout
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.oddities.oddity import Oddity

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.faults.stages import Stage
    from pytest_dflash.rehearsal.host import StandInHost

NOWHERE = "http://127.0.0.1:9"

DATE = """#!/bin/sh
# This machine's own clock, put off.
PATH=/usr/bin:/bin exec date -d '{off:+.0f} seconds' "$@"
"""


def clock_off(seconds: float) -> Stage:
    """Puts the host's clock off: for `date`, for the journal, for the engine's log and for all files."""

    def stage(host: StandInHost) -> None:
        date = host.bin / "date"
        date.write_text(DATE.format(off=seconds), "utf-8")
        date.chmod(0o755)
        stages.switch(clock_off_s=seconds)(host)
        host.tool("control", "put_off", str(seconds))
        for path in host.root.glob("etc/**/*"):
            changed = path.stat().st_mtime + seconds
            os.utime(path, (changed, changed))

    return stage


MISSING = """#!/bin/sh
echo "sh: 1: {name}: not found" >&2
exit 127
"""


OF_THE_UNIT = (
    "endpoint.serves", "exposure.key_hidden", "flags.environment", "flags.in_force", "flags.no_drift", "flags.no_knobs",
    "flags.none_ignored", "flags.plain_environment", "gpu.foreign_processes", "stack.built_for_gpus", "stack.companions",
    "stack.cuda_toolkit", "stack.package", "stack.torch_and_toolkit", "systemd.active", "systemd.environment_files",
    "systemd.loaded", "systemd.reloaded", "systemd.restarted", "systemd.stable", "window.reaches_draft_runner",
)  # fmt: skip
"""What nobody can tell of a unit where systemd says nothing."""
NO_SS = "listens could not be seen: `ss` is not there: install iproute2"


def hiding_owners(host: StandInHost) -> None:
    """Lets ss tell sockets and no processes."""
    ss = host.bin / "ss"
    told = ss.rename(ss.with_name("ss-of-root"))
    ss.write_text(f"#!/bin/sh\n{layout.quoted(str(told))} \"$@\" | sed 's/users:.*//'\n", "utf-8")
    ss.chmod(0o755)


def without_tool(name: str) -> Stage:
    """The host lacks a tool."""

    def stage(host: StandInHost) -> None:
        (host.bin / name).write_text(MISSING.format(name=name), "utf-8")

    return stage


SERVICE = (
    Oddity(
        "ipv6-only",
        "a service that listens on IPv6 alone",
        before=stages.replace("--host 127.0.0.1", "--host ::1"),
        expects=('exposure.bind="::1"',),
        places=("host",),
    ),
    Oddity(
        "bound-by-name",
        "a service that listens on localhost, by its name",
        before=stages.replace("--host 127.0.0.1", "--host localhost"),
        places=("host",),
    ),
    Oddity(
        "no-metrics",
        "a service without /metrics",
        before=stages.replace(" --enable-metrics", ""),
        places=("metrics",),
    ),
    Oddity(
        "coarse-streams",
        "an engine that sends eight tokens or more a chunk, no empty chunk with a role, and usage on its last chunk",
        before=stages.both(
            stages.replace("--port", "--stream-interval 8 --port"), stages.switch(streams="terse")
        ),
        alone=True,
        load="throughput",
    ),
    Oddity(
        "logprobs-refused",
        "an engine that tells no logprobs while it speculates, as SGLang with DDTree: a prefill is the only witness",
        before=stages.switch(
            refuses_logprobs="DDTREE speculative decoding does not support return_logprob yet."
        ),
        places=("logprobs",),
        load="tree",
    ),
    Oddity(
        "slow-start",
        "an engine that loads for a while when the run begins",
        before=stages.switch(load_seconds=1.5),
        settled_by="Load weight begin",
        alone=True,
    ),
    Oddity(
        "harmless-remarks",
        "an engine that calls a spelling deprecated and falls back where it may",
        before=stages.switch(
            remarks=[
                "--enable-metrics-for-all-schedulers is deprecated and will be removed in a future release.",
                "Ignore import error when loading sglang.srt.models.midashenglm: No module named 'torchaudio'",
                "FutureWarning: The pynvml package is deprecated. Please install nvidia-ml-py instead.",
            ]
        ),
    ),
    Oddity(
        "log-in-json",
        "an engine whose log is JSON, by a logging configuration of its own",
        before=stages.switch(log_form="json"),
        places=("log",),
    ),
    Oddity(
        "log-in-colours",
        "an engine that writes its log in colours",
        before=stages.switch(log_form="coloured"),
        places=("log",),
    ),
    Oddity(
        "volatile-journal",
        "a journal that is kept in memory only",
        before=stages.both(stages.gone("var/log/journal"), stages.written("run/log/journal/.keep", "")),
    ),
    Oddity(
        "chatter",
        "ten thousand lines of other things in the log since the start",
        after=stages.tool("control", "chatter", "10000"),
    ),
    Oddity(
        "bytes-in-the-log",
        "lines with control characters, NULs and bytes that are no text",
        after=stages.both(
            stages.tool(
                "control",
                "line",
                "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x00 \udcff\udcfe \r 50%|####      | \r",
            ),
            stages.tool(
                "control", "line", "<script>alert(1)</script> <b>&amp; {{7*7}} ${HOME} `id` $(id) %s %n"
            ),
        ),
    ),
    Oddity(
        "long-lines",
        "a line of a quarter of a million characters in the log",
        after=stages.tool("control", "line", "x" * 250_000),
    ),
    Oddity(
        "prerelease",
        "a package in a version of its own making",
        before=stages.package("torch", "2.15.0a0+git1a2b3c.nv26.1"),
    ),
    Oddity(
        "proxy-on-this-side",
        "whoever tests has a proxy in the environment, which leads nowhere",
        environ=dict.fromkeys(
            ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE
        ),
    ),
    Oddity(
        "other-locale-on-this-side",
        "whoever tests has another language, time zone and a narrow terminal",
        environ={"LANG": "tr_TR.UTF-8", "LC_ALL": "C", "TZ": "Asia/Kolkata", "COLUMNS": "20", "LINES": "5"},
    ),
    Oddity(
        "clock-ahead",
        "a host whose clock is ten minutes ahead of whoever tests",
        before=clock_off(600.0),
        places=("clock",),
    ),
    Oddity(
        "clock-behind",
        "a host whose clock is ten minutes behind, and behind its own start",
        before=clock_off(-600.0),
        places=("clock",),
    ),
    Oddity(
        "other-locale-on-the-host",
        "the service has another language and time zone",
        before=stages.in_file(
            "etc/sglang/k26.env",
            "HF_HUB_OFFLINE=1",
            "HF_HUB_OFFLINE=1\nLANG=de_DE.UTF-8\nTZ=America/St_Johns",
        ),
    ),
    Oddity(
        "without-systemctl",
        "a host whose systemctl does not answer",
        after=without_tool("systemctl"),
        alone=True,
        unseen=dict.fromkeys(OF_THE_UNIT, "`systemctl show` is not there")
        | {"flags.acceptance_exact": "the engine says nothing"},
    ),
    Oddity(
        "hidden-owner",
        "a login to which ss shows no owners, as nobody's but root's",
        before=hiding_owners,
        alone=True,
        unseen={"endpoint.same_process": "whether it is the one that answers on port"},
    ),
    Oddity(
        "without-ss",
        "a host without iproute2, so that nobody can see where the service listens",
        before=without_tool("ss"),
        alone=True,
        unseen=dict.fromkeys(("endpoint.serves", "flags.in_force", "flags.no_drift"), NO_SS),
    ),
)
