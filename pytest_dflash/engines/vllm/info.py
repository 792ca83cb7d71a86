"""What vLLM answers about itself on passive routes: its models, and its version.

Law: the documents are given; nobody asks for them here. vLLM answers its whole configuration only where
VLLM_SERVER_DEV_MODE=1 opens routes that no production host should have; so three settings are all that HTTP tells.
"""

from __future__ import annotations

from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.shapes import listed, table, text
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

PATHS = ("/v1/models",)
BESIDE = ("/version",)
TOLD = frozenset({"model", "served-model-name", "max-model-len"})


def settings(document: Json) -> Reading[Settings]:
    """The served names, the model behind them and its context length; adapters (LoRA) have a parent and are left out."""
    models = listed(table(document).get("data"))
    own = [each for each in models if isinstance(each, dict) and not each.get("parent")]
    if not own:
        return Silent("the answer lists no model")
    values: dict[str, Json] = {"served-model-name": [each.get("id") for each in own]}
    for key, setting in (("root", "model"), ("max_model_len", "max-model-len")):
        if own[0].get(key) is not None:
            values[setting] = own[0][key]
    return Value(Settings(values, "/v1/models", {}), "/v1/models")


def version(document: Json) -> str | None:
    """What /version said, which stands beside the models."""
    return text(table(table(document).get(BESIDE[0])).get("version"))
