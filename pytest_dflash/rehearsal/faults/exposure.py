"""Open doors: who can reach the port, and where a key can be read.

Law: a table. The key is one that opens nothing.
"""

from __future__ import annotations

from pytest_dflash.rehearsal import tls
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.faults.fault import Fault

KEY = "rehearsed-Key-that-opens-nothing-7f3a"

EXPOSURE = (
    Fault(
        "bound-everywhere",
        "read",
        ("exposure.bind",),
        "the port is bound to every address, without a key",
        layer="exposure",
        severity="exposure",
        says="expected 127.0.0.1, found 0.0.0.0",
        before=stages.replace("--host 127.0.0.1", "--host 0.0.0.0"),
    ),
    Fault(
        "no-key-set",
        "read",
        ("exposure.key_required", "exposure.routes_guarded"),
        "the profile expects a key, and the service answers without one",
        layer="exposure",
        severity="exposure",
        says="expected a refusal (HTTP 401 or 403), found HTTP 200",
        expects=("exposure.key_required=true",),
    ),
    Fault(
        "key-on-command-line",
        "read",
        ("exposure.key_hidden",),
        "a key stands in the unit file and so on the command line, in the journal and in the engine's answer",
        layer="exposure",
        severity="exposure",
        says="a key can be read: --admin-api-key in the command line",
        before=stages.replace("--trust-remote-code", f"--trust-remote-code --admin-api-key {KEY}"),
    ),
    Fault(
        "key-in-environment-line",
        "read",
        ("exposure.key_hidden",),
        "a key stands in an Environment= line, which `systemctl show` tells every user",
        layer="exposure",
        severity="exposure",
        says="a key can be read",
        before=stages.replace("[Service]\n", f"[Service]\nEnvironment=HF_TOKEN={KEY}\n"),
    ),
    Fault(
        "key-in-open-file",
        "read",
        ("exposure.key_hidden",),
        "the EnvironmentFile that holds the key can be read by every user",
        layer="exposure",
        severity="exposure",
        says="(mode 0644, of ",
        before=stages.both(
            stages.in_file("etc/sglang/k26.env", "OMP_NUM_THREADS", f"HF_TOKEN={KEY}\nOMP_NUM_THREADS"),
            stages.mode("etc", 0o755),
            stages.mode("etc/sglang", 0o755),
            stages.mode("etc/sglang/k26.env", 0o644),
        ),
    ),
    Fault(
        "open-tls-key",
        "read",
        ("exposure.key_hidden",),
        "the private key of the engine's TLS can be read by every user",
        layer="exposure",
        severity="exposure",
        says="key.pem (mode 0644, of ",
        before=stages.both(
            tls.encrypted,
            stages.mode("etc", 0o755),
            stages.mode("etc/sglang", 0o755),
            stages.mode("etc/sglang/tls", 0o755),
            stages.mode(tls.KEY, 0o644),
        ),
        expects=(tls.TRUSTED,),
    ),
)
