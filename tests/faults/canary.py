"""A plugin for a run's command line: stages keys that must be found nowhere in what the run prints or writes.

Law: makes the names known that `--dflash-fault` takes here; each key says where it stands.
"""

from __future__ import annotations

import json

from pytest_dflash.rehearsal import staged
from pytest_dflash.rehearsal.faults import Fault, stages

GIVEN = "canaryGiven5eC0ffee11"
"""The one that clients use; the others stand where careless people leave them."""
ELSEWHERE = {
    "argv": "canaryArgv5eC0ffee22",
    "environment_file": "canaryEnvironmentFile5eC0ffee33",
    "environment_line": "canaryEnvironmentLine5eC0ffee44",
    "comment": "canaryComment5eC0ffee55",
    "url": "canaryUrl5eC0ffee66",
    "header": "canaryHeader5eC0ffee77",
    "json": "canaryJson5eC0ffee88",
    "remark": "canaryRemark5eC0ffee99",
    "exec_start_pre": "canaryExecStartPre5eC0ffeeAA",
    "proxy": "canaryProxy5eC0ffeeBB",
    "error": "canaryError5eC0ffeeCC",
    "event": "canaryEvent5eC0ffeeDD",
    "location": "canaryLocation5eC0ffeeEE",
    "model": "canaryModel5eC0ffeeFF",
    "cookie": "canaryCookie5eC0ffee12",
}
KEYS = (GIVEN, *ELSEWHERE.values())

_LINES = (
    f"INFO: request headers: {{'Authorization': 'Bearer {ELSEWHERE['header']}'}}",
    f"pulling from https://robot:{ELSEWHERE['url']}@registry.example.org/v2/",
    f'{{"level": "info", "hf_token": "{ELSEWHERE["json"]}"}}',
    f"warming up with key {GIVEN}",
)
_OK = f"HTTP/1.1 200 OK\r\nconnection: close\r\nset-cookie: session_token={ELSEWHERE['cookie']}\r\n"


def _chunked(text: str) -> str:
    return f"transfer-encoding: chunked\r\n\r\n{len(text):x}\r\n{text}\r\n0\r\n\r\n"


def _complaint(key: str) -> str:
    return json.dumps(
        {"error": {"message": f"Incorrect api_key='{key}', and {GIVEN} is no better; x-api-key: {key}"}}
    )


ANSWERS = {
    "/v1/chat/completions": {
        "head": "HTTP/1.1 500 x\r\nconnection: close\r\n" + _chunked(_complaint(ELSEWHERE["error"]))
    },
    "/v1/completions": {
        "head": f"{_OK}content-type: text/event-stream\r\n"
        + _chunked(f"event: error\ndata: {_complaint(ELSEWHERE['event'])}\n\n")
    },
    "/v1/loads": {
        "head": "HTTP/1.1 307 x\r\nconnection: close\r\n"
        f"location: http://robot:{ELSEWHERE['location']}@127.0.0.1:1/?api_key={ELSEWHERE['location']}\r\n\r\n"
    },
    "/v1/models": {
        "head": f"{_OK}content-type: application/json\r\n"
        + _chunked(json.dumps({"data": [{"id": f"Kimi?api_key={ELSEWHERE['model']}", "object": "model"}]}))
    },
}
"""An engine, or what stands before it, that gives away what it knows."""
CANARIES = stages.both(
    stages.replace(
        "--trust-remote-code", f"--trust-remote-code --api-key {GIVEN} --admin-api-key {ELSEWHERE['argv']}"
    ),
    stages.in_file(
        "etc/sglang/k26.env", "OMP_NUM_THREADS", f"HF_TOKEN={ELSEWHERE['environment_file']}\nOMP_NUM_THREADS"
    ),
    stages.replace(
        "[Service]\n",
        f"[Service]\n# password: {ELSEWHERE['comment']}\n"
        f"Environment=AWS_SECRET_ACCESS_KEY={ELSEWHERE['environment_line']}\n"
        f"Environment=HTTPS_PROXY=http://robot:{ELSEWHERE['proxy']}@proxy.example.org:3128\n"
        f"ExecStartPre=-/bin/true --token {ELSEWHERE['exec_start_pre']}\n",
    ),
    stages.switch(
        remarks=[
            f"--enable-dp-lm-head is ignored because of --api-key {ELSEWHERE['remark']} and the weather."
        ]
    ),
)
_LAID = stages.both(*(stages.tool("control", "line", line) for line in _LINES))
staged.STAGED |= {  # type: ignore[operator]  # a dict, whatever others may rely on
    "canaries": Fault(
        "canaries", "probe", ("exposure.key_hidden",), "keys lie about everywhere",
        layer="exposure", severity="exposure", says="a key can be read",
        before=CANARIES,
        after=_LAID,
    ),
    "canaries-in-answers": Fault(
        "canaries-in-answers", "probe", ("exposure.key_hidden",), "keys lie about in answers, too",
        layer="exposure", severity="exposure", says="a key can be read",
        before=stages.both(CANARIES, stages.switch(raw_answers=ANSWERS)),
        after=_LAID,
    ),
}  # fmt: skip
