"""The pages of the documentation that are generated: checks, options, keys of a profile, levels, and a sample report.

Law: a hook of mkdocs; everything comes from the code that it tells of, so that a page cannot be out of date.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from pytest_dflash import catalogue, levels, plugin
from pytest_dflash.findings import AREAS
from pytest_dflash.profile.schema import Profile
from pytest_dflash.report.page import render

SAMPLE = Path(__file__).parents[1] / "docs" / "sample.json"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages."""
    pages = {
        "checks.md": checks(),
        "profile-reference.md": profile(),
        "levels.md": allowed(),
        "options.md": options(),
        "sample-report.html": sample(),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def checks() -> str:
    """Every check: what, why, which faults, how to mend."""
    lines = ["# All checks", "", "`pytest --dflash-explain=CHECK` prints the same on a terminal.", ""]
    area = ""
    for entry in catalogue.entries().values():
        if entry.name.partition(".")[0] != area:
            area = entry.name.partition(".")[0]
            lines += [f"## {area}", "", f"{AREAS[area].capitalize()}. Selected by `-m {area}`.", ""]
        lines += [f"### {entry.name}", "", f"**{entry.sentence.capitalize()}.** {entry.why}", ""]
        per = f", once for each {entry.per} of the profile" if entry.per else ""
        lines += [f"* Level: `{entry.level}`{per}", f"* To mend: {entry.mend}"]
        if entry.faults:
            lines.append(
                "* Faults that it must notice: " + ", ".join(f"`{fault.name}`" for fault in entry.faults)
            )
        lines.append("")
    return "\n".join(lines)


def options() -> str:
    """Every option, as `pytest --help` tells it."""
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    lines = [
        "# All options",
        "",
        "`pytest --help` prints the same; pytest's and testinfra's own hold beside them.",
        "",
    ]
    for option in parser.getgroup("dflash").options:
        told = option.attrs()
        value = f" {told['metavar']}" if told.get("metavar") else ""
        often = " Repeatable." if told.get("action") == "append" and "repeatable" not in told["help"] else ""
        said = " ".join(str(told["help"]).split())
        lines += [f"### {option.names()[0]}", "", f"`{option.names()[0]}{value}`: {said}.{often}", ""]
    return "\n".join(lines)


def allowed() -> str:
    """What each word of --dflash-allow may do, and which checks need it."""
    lines = [
        "# What a run may do",
        "",
        "`--dflash-allow` says how far a run may go. Two ladders stand apart: `read` < `probe` < `load`, and `restart` <",
        "`reconfigure`. The default is `load`, held back while requests of others run. `restart` and `reconfigure` count only",
        "when typed on the command line. `--dflash-plan` prints every restart, request and file of a run and touches nothing;",
        "`--dflash-print-sudoers` prints what each level needs on a host.",
        "",
    ]
    for word, meaning in levels.MEANING.items():
        names = [entry.name for entry in catalogue.entries().values() if entry.level == word]
        lines += [f"## {word}", "", f"{meaning.capitalize()}.", ""]
        lines += (
            ["Checks: " + ", ".join(f"[{n}](checks.md#{n.replace('.', '')})" for n in names) + "."]
            if names
            else []
        )
        lines.append("")
    return "\n".join(lines)


def profile() -> str:
    """Every table and key of a profile, by its schema."""
    schema = Profile.model_json_schema(by_alias=True)
    lines = [
        "# All keys of a profile",
        "",
        "Generated from the schema. How a profile is used: [the profile](profile.md).",
        "",
    ]
    tables: list[tuple[str, Mapping[str, Any]]] = []
    top = [("", name, told) for name, told in schema["properties"].items()]
    for _, name, told in top:
        table = _table(told, schema)
        if table is not None:
            tables.append((f"[[{name}]]" if told.get("type") == "array" else f"[{name}]", table))
    lines += ["## At the top", "", *_rows({n: t for _, n, t in top if _table(t, schema) is None}, schema, ())]
    for name, table in tables:
        lines += ["", f"## {name}", "", _said(table.get("description", "")), ""]
        lines += _rows(table.get("properties", {}), schema, table.get("required", ()))
        if "additionalProperties" in table and not table.get("properties"):
            lines += ["Names are free."]
    return "\n".join([*lines, ""])


def _said(description: str) -> str:
    return description.partition("Attributes:")[0].strip()


def _table(told: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    reference = told.get("$ref") or told.get("items", {}).get("$ref")
    found: Mapping[str, Any] | None = schema["$defs"][reference.rpartition("/")[2]] if reference else None
    return found


def _rows(properties: Mapping[str, Any], schema: Mapping[str, Any], required: Any) -> Iterator[str]:
    if not properties:
        return
    yield "| key | type | default |"
    yield "|---|---|---|"
    for name, told in properties.items():
        default = (
            "required"
            if name in required
            else f"`{json.dumps(told['default'])}`"
            if told.get("default") not in (None, [], {})
            else "none"
        )
        yield f"| `{name}` | {_type(told, schema)} | {default} |"


def _type(told: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "anyOf" in told:
        return " or ".join(_type(each, schema) for each in told["anyOf"] if each.get("type") != "null")
    if "enum" in told:
        return ", ".join(f"`{json.dumps(value)}`" for value in told["enum"])
    if "const" in told:
        return f"`{json.dumps(told['const'])}`"
    if "$ref" in told:
        table = schema["$defs"][told["$ref"].rpartition("/")[2]]
        return f"table of {', '.join(f'`{key}`' for key in table.get('properties', {}))}"
    kind = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "object": "table",
        "array": "list",
    }
    if told.get("type") == "array":
        return f"list of {_type(told.get('items', {}), schema)}"
    bounds = [
        f"{word} {told[key]}"
        for key, word in (("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"))
        if key in told
    ]
    form = f" ({told['format']})" if told.get("format") else ""
    return (
        kind.get(told.get("type", ""), "text, number or true/false")
        + form
        + (f", {', '.join(bounds)}" if bounds else "")
    )


def sample() -> str:
    """A report as a run leaves it, of a recorded run of the rehearsal with five faults at once."""
    document = json.loads(SAMPLE.read_text("utf-8"))
    body = render.page(document)
    head = '<meta charset="utf-8"><title>A sample report</title>'
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{body}</body></html>'
