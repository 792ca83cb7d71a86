"""Ways to be asked that are unusual and right.

Law: a table.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import layout
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.oddities.oddity import Oddity

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost

CERTIFICATE = layout.RECORDINGS / "tls" / "cert.pem"
"""Of an authority of its own, for 127.0.0.1 and ::1; its key opens nothing but stand-ins."""


def encrypted(host: StandInHost) -> None:
    """Lets the engine speak TLS itself."""
    folder = host.root / "etc/sglang/tls"
    shutil.copytree(CERTIFICATE.parent, folder)
    names = [layout.quoted(str(folder / name)) for name in ("cert.pem", "key.pem")]
    stages.replace(
        " --enable-metrics", f" --ssl-certfile {names[0]} --ssl-keyfile {names[1]} --enable-metrics"
    )(host)


ENDPOINT = (
    Oddity(
        "tls-of-its-own",
        "an engine that speaks TLS itself, by a certificate of a private authority",
        before=encrypted,
        expects=(f"endpoint.ca_file={json.dumps(str(CERTIFICATE))}",),
        places=("metrics",),
    ),
    Oddity(
        "base-path",
        "an engine whose routes lie below a path, where a proxy expects them",
        before=stages.replace(" --port ", " --fastapi-root-path /llm/k26 --port "),
        places=("metrics",),
    ),
    Oddity(
        "reasoning-model",
        "a model that thinks first: its thoughts come in a field of their own, and its content is null meanwhile",
        before=stages.replace(" --trust-remote-code", " --reasoning-parser kimi_k2 --trust-remote-code"),
        places=("reasoning",),
    ),
    Oddity(
        "long-thoughts",
        "a model that thinks longer than it may answer, so that no content comes unless it is asked not to think",
        before=stages.replace(" --trust-remote-code", " --reasoning-parser deepseek-r1 --trust-remote-code"),
        places=("reasoning",),
    ),
)
