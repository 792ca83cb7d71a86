"""The CUDA toolkit as the service sees it: which nvcc and ptxas its just-in-time compilers would take.

Law: the service's PATH and CUDA_HOME, never those of the one who looks: what works in an administrator's
shell may be missing under systemd. Versions are asked of the tools, or read from version.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.service import SERVICE_PROCESS

VARIABLES = ("CUDA_HOME", "CUDA_PATH", "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "PATH")
TOOLS = ("ninja", "gcc", "g++", "cc")


@dataclass(frozen=True, slots=True)
class Compiler:
    """One nvcc or ptxas.

    Attributes:
        release: "13.0"; Silent when it told none.
        found_by: "CUDA_HOME", "PATH" (of the service), or "default": /usr/local/cuda, on no path of the service.
    """

    path: str
    release: Reading[str]
    found_by: str


@dataclass(frozen=True, slots=True)
class Toolkit:
    """What the service's compilers would use.

    Attributes:
        nvcc: The one that they take: that of CUDA_HOME, else of PATH, else of /usr/local/cuda (the order of torch
            and FlashInfer). Absent when there is none.
        others: Further nvcc that were found, in that order: a second release is a trap.
        ptxas: By the same order; Triton takes its own unless TRITON_PTXAS_PATH says otherwise.
        variables: Those of `VARIABLES` that the service has.
        tools: Paths on the service's PATH; Absent when not there.
    """

    nvcc: Reading[Compiler]
    others: tuple[Compiler, ...]
    ptxas: Reading[Compiler]
    variables: Mapping[str, str]
    tools: Mapping[str, Reading[str]]
    pid: int

    @property
    def version(self) -> Reading[str]:
        """The release of the nvcc that they take."""
        return self.nvcc.value.release if isinstance(self.nvcc, Value) else self.nvcc


_SCRIPT = (
    SERVICE_PROCESS
    + r"""
say() { printf '%s=%s\n' "$1" "$2"; }
say pid "$pid"
say readable "$readable"
[ "$readable" = yes ] || exit 0
for name in CUDA_HOME CUDA_PATH TRITON_PTXAS_PATH TRITON_PTXAS_BLACKWELL_PATH PATH; do
    variable "$name" && say "variable $name" "$value"
done
variable CUDA_HOME || variable CUDA_PATH || value=
home=$value
variable PATH || value=/usr/local/bin:/usr/bin:/bin
path=$value
on_path() {
    IFS=:
    for folder in $path; do
        [ -x "$view$folder/$1" ] && [ ! -d "$view$folder/$1" ] && { unset IFS; printf '%s' "$folder/$1"; return 0; }
    done
    unset IFS
    return 1
}
# Only what root or the asking user owns is run, and nothing of a container: a service must not choose what we run.
own() { [ -O "$1" ] || [ "$(stat -Lc %u "$1" 2>/dev/null)" = 0 ]; }
described=
describe() {
    [ -x "$view$3" ] || return 0
    case $described in *"
$3
"*) return 0 ;; esac
    described="$described
$3
"
    printf 'tool %s %s=%s\n' "$1" "$2" "$3"
    if own "$view$3" && { [ -z "$view" ] || [ "$view/" -ef / ]; }; then
        timeout -k 1 10 "$view$3" --version 2>&1 </dev/null | head -n 12
    else
        echo 'not run: it belongs to another user or root folder'
    fi
    up=${3%/bin/*}
    [ ! -r "$view$up/version.json" ] || { echo; echo version.json; head -c 20000 "$view$up/version.json"; echo; }
}
for tool in nvcc ptxas; do
    [ -z "$home" ] || describe "$tool" CUDA_HOME "${home%/}/bin/$tool"
    found=$(on_path "$tool") && describe "$tool" PATH "$found"
    describe "$tool" default "/usr/local/cuda/bin/$tool"
done
for tool in ninja gcc g++ cc; do
    found=$(on_path "$tool") && say "found $tool" "$found"
done
exit 0
"""
)

_TOOL = re.compile(r"^tool (?P<tool>nvcc|ptxas) (?P<by>CUDA_HOME|PATH|default)=(?P<path>/.*)$", re.MULTILINE)
_RELEASE = re.compile(r"\brelease (\d{1,3}\.\d{1,3})\b")
_JSON_RELEASE = re.compile(r'"cuda_nvcc"\s*:\s*\{[^}]*"version"\s*:\s*"(\d{1,3}\.\d{1,3})')


def _compilers(text: str) -> Mapping[str, tuple[Compiler, ...]]:
    found: dict[str, dict[str, Compiler]] = {"nvcc": {}, "ptxas": {}}
    headers = list(_TOOL.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    for header, end in zip(headers, ends if headers else [], strict=True):
        said = text[header.end() : end]
        release = _RELEASE.search(said) or _JSON_RELEASE.search(said)
        path = header["path"]
        reading: Reading[str] = (
            Value(release[1], f"{path} --version")
            if release
            else Silent(f"`{path} --version` told no release: {said.strip()[:120]!r}", path)
        )
        found[header["tool"]].setdefault(path, Compiler(path, reading, header["by"]))
    return {tool: tuple(compilers.values()) for tool, compilers in found.items()}


def _parse(reply: Reply) -> Reading[Toolkit]:
    said = {
        key: value
        for line in reply.text.splitlines()
        for key, equals, value in [line.partition("=")]
        if equals
    }
    pid = said.get("pid", "")
    if not re.fullmatch(r"\d{1,10}", pid):
        return reply.silence("the service's CUDA toolkit")
    if pid == "0":
        return Absent("the unit has no process")
    if said.get("readable") != "yes":
        return Silent(
            f"the environment of pid {pid} is not readable, so its PATH and CUDA_HOME are not known; try --sudo",
            f"/proc/{pid}/environ",
        )
    compilers = _compilers(reply.text)
    nowhere = Absent(f"CUDA_HOME, PATH of pid {pid}, /usr/local/cuda/bin")
    first: dict[str, Reading[Compiler]] = {
        tool: Value(found[0], found[0].path) if found else nowhere for tool, found in compilers.items()
    }
    tools: dict[str, Reading[str]] = {}
    for tool in TOOLS:
        path = said.get(f"found {tool}")
        tools[tool] = Value(path, path) if path else Absent(f"PATH of pid {pid}")
    return Value(
        Toolkit(
            nvcc=first["nvcc"],
            others=compilers["nvcc"][1:],
            ptxas=first["ptxas"],
            variables={name: said[f"variable {name}"] for name in VARIABLES if f"variable {name}" in said},
            tools=tools,
            pid=int(pid),
        ),
        f"/proc/{pid}/environ",
    )


TOOLKIT: Probe[Toolkit] = Probe("toolkit", _SCRIPT, _parse)
"""The toolkit of the service's environment. Silent where that environment may not be read."""
