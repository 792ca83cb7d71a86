"""Ways to be asked that are unusual and right.

Law: a table.
"""

from __future__ import annotations

from pytest_dflash.rehearsal import tls
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.oddities.oddity import Oddity

ENDPOINT = (
    Oddity(
        "tls-of-its-own",
        "an engine that speaks TLS itself, by a certificate of a private authority",
        before=tls.encrypted,
        expects=(tls.TRUSTED,),
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
