"""What llama.cpp answers about itself on `/props`.

Law: the document is given; nobody asks for it here. It tells names and slots, and no flag of speculation.
"""

from __future__ import annotations

from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.shapes import count, table, text
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

PROPS = "/props"
SLOT_CONTEXT = "ctx-size-of-a-slot"
"""No flag: what is left of --ctx-size for one request."""
TOLD = {"model_alias": "alias", "model_path": "model", "total_slots": "parallel"}


def settings(document: Json) -> Reading[Settings]:
    """Alias, model, slots, and the context of one of them."""
    told = table(document)
    values: dict[str, Json] = {name: told[key] for key, name in TOLD.items() if told.get(key) is not None}
    context = count(table(told.get("default_generation_settings")).get("n_ctx"))
    if context is not None:
        values[SLOT_CONTEXT] = context
    return Value(Settings(values, PROPS, {}), PROPS) if values else Silent("it tells no properties", PROPS)


def version(document: Json) -> str | None:
    """`build_info`: the build's number and commit."""
    return text(table(document).get("build_info"))
