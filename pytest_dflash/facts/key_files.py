"""Who may read the files that a command line names and that hold keys: the private key of TLS, API keys, configuration.

Law: owners and modes only; nothing of a key is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_dflash.facts.access import WHOSE, Access, read_access
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.facts.service import EACH_ARGUMENT, SERVICE_PROCESS

KEYS = ("--api-key-file", "--ssl-keyfile", "--ssl-key-file")
"""Flags of files that are keys. Source: `llama-server --help`; uvicorn's names, which SGLang and vLLM took over."""
SETTINGS = ("--config",)
"""Flags of files in which keys may stand."""

SPELLED = tuple(
    dict.fromkeys(
        spelled for flag in (*KEYS, *SETTINGS) for spelled in (flag, "--" + flag[2:].replace("-", "_"))
    )
)
"""As parsers of arguments take them too."""

_SCRIPT = r"""
cwd=$(readlink -e "$dir/cwd" 2>/dev/null)
# Whose root nobody but root may see still tells its mounts: with others than ours its paths are not those of the host.
apart=
mounts() { cut -d ' ' -f 1,4,5 "$1/mountinfo" 2>/dev/null; }
if [ -z "$view" ] && [ -r "$dir/mountinfo" ] && [ "$(mounts "$dir")" != "$(mounts "$R/proc/self")" ]; then apart=yes; fi
look() {
    case $2 in /*) path=$2 ;; *) path=$cwd/$2 ;; esac
    if [ "${path#/}" = "$path" ]; then said=unresolved
    elif [ -n "$apart" ]; then said=elsewhere
    elif [ -n "$view" ] && [ -e "$view$path" ] && ! [ "$view$path" -ef "$path" ]; then said=elsewhere
    elif [ -e "$path" ]; then said=$(whose "$path")
    else said=unseen
    fi
    printf '%s\t%s\t%s\t%s\n' "$1" "$said" "$path" "$2"
    if [ "$1" = --config ] && [ -r "$path" ]; then
        config=$path
        for key in ssl-keyfile ssl-key-file api-key-file; do
            inside=$(entry "$key" "$config")
            [ -z "$inside" ] || look "--$key" "$inside"
        done
    fi
}
entry() { # KEY FILE: the value of a key that stands by itself on a line of YAML, without its quotes
    spelled=$(printf '%s' "$1" | sed 's/-/[-_]/g')
    head -c 65536 -- "$2" |
        sed -n "s/^$spelled[[:space:]]*:[[:space:]]*[\"']\{0,1\}\([^\"'#]*[^\"'#[:space:]]\).*/\1/p" | head -n 1
}
argument() {
    for known in @FLAGS@; do [ "$1" != "$known" ] || look "$1" "$2"; done
}
each_argument
exit 0
"""


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A file that the command line names.

    Attributes:
        flag: By which flag, in its own spelling. path: As the command line spells it. at: The whole path.
        access: None where it cannot be seen by whoever looks.
        unresolved: It is below the process's working folder, and nobody told which one that is.
        elsewhere: The process has mounts of its own, as in a container: who reads it there is not known from outside.
    """

    flag: str
    path: str
    access: Access | None = None
    elsewhere: bool = False
    unresolved: bool = False
    at: str = ""


def _parse(reply: Reply) -> Reading[tuple[KeyFile, ...]]:
    if reply.rc:
        return reply.silence("stat of the files that the command line names")
    fields = [line.split("\t", 3) for line in reply.text.split("\n")]
    return Value(
        tuple(
            KeyFile(
                each[0].replace("_", "-"),
                each[3],
                read_access(each[1]),
                elsewhere=each[1] == "elsewhere",
                unresolved=each[1] == "unresolved",
                at=each[2],
            )
            for each in fields
            if len(each) == 4 and each[0] in SPELLED
        ),
        "stat",
    )


KEY_FILES: Probe[tuple[KeyFile, ...]] = Probe(
    "key-files",
    SERVICE_PROCESS + EACH_ARGUMENT + WHOSE + _SCRIPT.replace("@FLAGS@", " ".join(SPELLED)),
    _parse,
)
"""Those of the process that speaks for the service, in the order of its command line."""
