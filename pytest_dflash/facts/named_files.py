"""Files that the service's command line names: configuration, and the config.json of models.

Law: which flags name files is handed in by whoever knows the engine. Paths are looked up as the process sees
them (its root, its working folder), and read with a bound; nothing else of a model is touched.
"""

from __future__ import annotations

import base64
import binascii
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.service import EACH_ARGUMENT, SERVICE_PROCESS
from pytest_dflash.findings import Json
from pytest_dflash.redaction import Yaml

CAP_BYTES = 1_048_576

_SCRIPT = r"""
cwd=$(readlink -m "$dir/cwd" 2>/dev/null)
show() {
    case $1 in /*) path=$1 ;; *) path=$cwd/$1 ;; esac
    for place in "$view$path$2" "$path$2"; do
        [ -f "$place" ] || continue
        printf '%s\t' "$1$2"
        head -c @CAP@ "$place" | base64 | tr -d '\n'
        echo
        return
    done
}
inside() { # the folder under a key of a JSON object, on one line
    folder=$(printf '%s\n' "$1" | sed -n 's/.*"'"$2"'"[[:space:]]*:[[:space:]]*"\([^"\\]*\)".*/\1/p')
    [ -z "$folder" ] || show "$folder" /config.json
}
argument() {
    for known in @FILES@; do [ "$1" != "$known" ] || show "$2" ''; done
    for known in @FOLDERS@; do
        case $known in
            "$1") show "$2" /config.json ;;
            "$1".*) inside "$2" "${known##*.}" ;;
        esac
    done
}
each_argument
exit 0
"""


def named_files(file_flags: Sequence[str], folder_flags: Sequence[str]) -> Probe[Mapping[str, str]]:
    """The probe for these flags.

    Args:
        file_flags: Flags (with their dashes) whose value is a text file: its text is read.
        folder_flags: Flags whose value is a model's folder: its config.json is read. `--flag.key` also takes the
            folder from that key of a flag whose value is JSON.

    Returns:
        A probe whose value maps each path, as the command line spells it, to the text. What could not be read
        is not in it.
    """
    script = _SCRIPT.replace("@CAP@", str(CAP_BYTES))
    for mark, flags in (("@FILES@", file_flags), ("@FOLDERS@", folder_flags)):
        script = script.replace(mark, " ".join(shlex.quote(flag) for flag in flags) or "''")
    return Probe("named-files", SERVICE_PROCESS + EACH_ARGUMENT + script, _parse)


def _parse(reply: Reply) -> Reading[Mapping[str, str]]:
    found: dict[str, str] = {}
    for line in reply.text.splitlines():
        path, tab, encoded = line.partition("\t")
        if tab:
            try:
                found[path] = Yaml(base64.b64decode(encoded, validate=True).decode("utf-8", "replace"))
            except (binascii.Error, ValueError):
                continue
    if reply.rc and not found:
        return reply.silence("cat of the files that the command line names")
    return Value(found, "files named by the command line")


def model_config(named: Reading[Mapping[str, str]]) -> Reading[Json]:
    """The config.json of the first model's folder that was read."""
    if not isinstance(named, Value):
        return Silent("the files that the command line names were not read")
    for path, text in named.value.items():
        if path.endswith("/config.json"):
            with suppress(ValueError, RecursionError):
                return Value(json.loads(text), path)
    return Silent("the drafter's config.json could not be read (a name at a hub, or no permission)")
