"""What vLLM answers about itself on passive routes: its models, and its version.

Law: the documents are given; nobody asks for them here. vLLM answers its whole configuration only where
VLLM_SERVER_DEV_MODE=1 opens routes that no production host should have; so three settings are all that HTTP tells.
"""

from __future__ import annotations

from pytest_dflash.engines.dialect import Settings
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

PATHS = ("/v1/models",)
BESIDE = ("/version",)
TOLD = frozenset({"model", "served-model-name", "max-model-len"})


def settings(document: Json) -> Reading[Settings]:
    """The served names, the model behind them and its context length; adapters (LoRA) have a parent and are left out."""
    models = document.get("data") if isinstance(document, dict) else None
    own = (
        [each for each in models or () if isinstance(each, dict) and not each.get("parent")]
        if isinstance(models, list)
        else []
    )
    if not own:
        return Silent("the answer lists no model")
    values: dict[str, Json] = {"served-model-name": [each.get("id") for each in own]}
    for key, setting in (("root", "model"), ("max_model_len", "max-model-len")):
        if own[0].get(key) is not None:
            values[setting] = own[0][key]
    return Value(Settings(values, "/v1/models", {}), "/v1/models")


def version(document: Json) -> str | None:
    """What /version said, which stands beside the models."""
    beside = document.get(BESIDE[0]) if isinstance(document, dict) else None
    found = beside.get("version") if isinstance(beside, dict) else None
    return found if isinstance(found, str) and found else None
