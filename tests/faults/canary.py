"""A plugin for a run's command line: stages keys that must be found nowhere in what the run prints or writes.

Law: makes the names known that `--dflash-fault` takes here; each key says where it stands.
"""

from __future__ import annotations

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
}
KEYS = (GIVEN, *ELSEWHERE.values())

_LINES = (
    f"INFO: request headers: {{'Authorization': 'Bearer {ELSEWHERE['header']}'}}",
    f"pulling from https://robot:{ELSEWHERE['url']}@registry.example.org/v2/",
    f'{{"level": "info", "hf_token": "{ELSEWHERE["json"]}"}}',
    f"warming up with key {GIVEN}",
)
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
        f"Environment=AWS_SECRET_ACCESS_KEY={ELSEWHERE['environment_line']}\n",
    ),
    stages.switch(
        remarks=[
            f"--enable-dp-lm-head is ignored because of --api-key {ELSEWHERE['remark']} and the weather."
        ]
    ),
)
staged.STAGED |= {  # type: ignore[operator]  # a dict, whatever others may rely on
    "canaries": Fault(
        "canaries", "probe", ("exposure.key_hidden",), "keys lie about everywhere",
        layer="exposure", severity="exposure", says="a key can be read",
        before=CANARIES,
        after=stages.both(*(stages.tool("control", "line", line) for line in _LINES)),
    ),
}  # fmt: skip
