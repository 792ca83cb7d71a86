"""The Python packages of the interpreter that serves, by their metadata on disk.

Law: nothing is executed or imported: importing torch takes seconds and touches the GPU. The search path is
worked out as Python does: PYTHONPATH, working folder (`-m`), site-packages of the environment, what *.pth
files add, then the base's where the environment includes it. The first one found wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.service import SERVICE_PROCESS


@dataclass(frozen=True, slots=True)
class Packages:
    """What is installed for the serving interpreter.

    Attributes:
        interpreter: As the process was started (a virtual environment's own path).
        pid: Of the process whose interpreter it is.
        versions: By normalised name (PEP 503), the local part kept: "torch": "2.9.1+cu130".
        where: The metadata folder of each.
        roots: The folders searched, in order.
        duplicates: Names that one folder holds in several versions: which one Python takes is chance.
        notes: What makes this list doubtful, in words.
    """

    interpreter: str
    pid: int
    versions: Mapping[str, str]
    where: Mapping[str, str]
    roots: tuple[str, ...]
    duplicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


_SCRIPT = (
    SERVICE_PROCESS
    + r"""
say() { printf '%s=%s\n' "$1" "$2"; }
argv0=${argv%%"
"*}
case ${exe##*/}:${argv0##*/} in
    python*|pypy*|*:python*|*:pypy*) ;;
    *) say none "pid $pid, ${argv0:-no command line}"; exit 0 ;;
esac
cwd=$(readlink -m "$dir/cwd" 2>/dev/null)
case $cwd in "$R"/proc/*|/proc/*) cwd= ;; esac
say pid "$pid"
say view "$view"
[ "$readable" = yes ] || say note 'its environment is not readable, so PYTHONPATH is not known; try --sudo'

# The interpreter as it was started: by its path, from its working folder, or found on its own PATH.
python=$argv0
case $python in
    /*) ;;
    */*) python=$cwd/$python ;;
    *)  python=$exe
        variable PATH || value=/usr/local/bin:/usr/bin:/bin
        IFS=:
        for folder in $value; do
            [ -x "$view$folder/$argv0" ] && python=$folder/$argv0 && break
        done
        unset IFS
        # A process that renames itself keeps its interpreter, but no word of the environment that it was started from.
        case $python:${argv0##*/} in
            "$exe":python*|"$exe":pypy*) ;;
            "$exe":*) say none "pid $pid calls itself $argv0, so which environment it runs is not known"; exit 0 ;;
        esac ;;
esac
say python "$python"

# Its own switches, up to what it runs.
isolated= module= file= skip=yes
while IFS= read -r word; do
    [ -z "$skip" ] || { skip=; continue; }
    case $word in
        -m) module=yes; break ;;
        -c) break ;;
        -I|-E) isolated=$word ;;
        -X|-W) skip=yes ;;
        -*) ;;
        *) file=$word; break ;;
    esac
done <<END
$argv
END

roots=
add() {
    case $1 in /*) [ -d "$view$1" ] || return 0 ;; *) return 0 ;; esac
    case "$roots
" in *"
$1
"*) return 0 ;; esac
    roots="$roots
$1"
}
site() {
    add "$1"
    set -- "$1" "$view$1"/*.pth
    [ -e "$2" ] || return 0
    folder=$1; shift
    lines=$(timeout 5 grep -hvE '^(import[[:space:]]|#|[[:space:]]*$)' "$@" 2>/dev/null)
    while IFS= read -r line; do
        case $line in '') ;; /*) add "$line" ;; *) add "$folder/$line" ;; esac
    done <<END
$lines
END
}

if [ "$isolated" != -I ] && ! variable PYTHONSAFEPATH; then
    [ -z "$module" ] || add "$cwd"
    case $file in /*/*) add "${file%/*}" ;; esac
fi
if [ -z "$isolated" ] && variable PYTHONPATH; then
    IFS=:
    for folder in $value; do add "$folder"; done
    unset IFS
fi

bin=${python%/*}
prefix=${bin%/*}
base=${exe%/*}
base=${base%/*}
config=
for file in "$bin/pyvenv.cfg" "$prefix/pyvenv.cfg"; do [ ! -f "$view$file" ] || config=$view$file; done
shared=yes
if [ -n "$config" ]; then
    grep -qiE '^include-system-site-packages *= *true' "$config" || shared=
    home=$(sed -n 's/^home *= *//p' "$config")
    [ -n "$base" ] || base=${home%/*}
else
    [ -n "$base" ] || { base=$(readlink -m "$view$python"); base=${base#"$view"}; base=${base%/*/*}; }
    prefix=$base
fi
case ${exe##*/} in python3.[0-9]*) version=${exe##*/} ;; *) version='python3*' ;; esac
sites() {
    set -- "$1" "$version"
    for folder in "$view$1/lib/"$2 "$view$1/lib64/"$2; do [ ! -d "$folder/site-packages" ] || set -- "$@" "$folder"; done
    [ "$#" -gt 2 ] || set -- "$1" "$2" "$view$1"/lib/python3*
    folders=$*
    first=$1
    shift 2
    for folder in "$@"; do
        folder=${folder#"$view"}
        [ "$first" != /usr ] || site "/usr/local/lib/${folder##*/}/dist-packages"
        site "$folder/site-packages"
        site "$folder/dist-packages"
    done
}
if [ -n "$shared" ] && [ -z "$isolated" ] && ! variable PYTHONNOUSERSITE; then
    variable PYTHONUSERBASE || { variable HOME && value=$value/.local; } || value=/nonexistent
    for folder in "$view$value/lib/"$version; do site "${folder#"$view"}/site-packages"; done
fi
sites "$prefix"
[ -z "$config" ] || [ -z "$shared" ] || sites "$base"

set --
while IFS= read -r folder; do
    [ -n "$folder" ] || continue
    say root "$folder"
    for entry in "$view$folder"/*.dist-info "$view$folder"/*.egg-info; do
        [ -e "$entry" ] || continue
        say have "$entry"
        case $entry in
            *.dist-info) set -- "$@" "$entry/METADATA" ;;
            *) if [ -d "$entry" ]; then set -- "$@" "$entry/PKG-INFO"; else set -- "$@" "$entry"; fi ;;
        esac
    done
done <<END
$roots
END
echo versions
[ "$#" -eq 0 ] || timeout 20 grep -a -s -H -m1 '^Version:' "$@"
exit 0
"""
)

_ENTRY = re.compile(r"(?P<folder>.*)/(?P<name>[A-Za-z0-9][^/]*?)\.(?:dist|egg)-info")
_VERSION = re.compile(
    r"(?P<entry>.*\.(?:dist|egg)-info)(?:/METADATA|/PKG-INFO)?:Version:\s*(?P<version>\S{1,80})\s*"
)
_NAMED = re.compile(r"(?P<name>.+?)(?:-(?P<version>\d[^-]*))?(?:-py\d[\d.]*)?")


def normalised(name: str) -> str:
    """A package's name as PEP 503 compares it: "flashinfer_python" and "FlashInfer-Python" are one."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _parse(reply: Reply) -> Reading[Packages]:
    listed, _, grepped = reply.text.partition("\nversions\n")
    said = [
        (key, value) for line in listed.splitlines() for key, equals, value in [line.partition("=")] if equals
    ]
    one = dict(said)
    if "none" in one:
        nobody = one["none"].startswith("pid 0,")
        return (
            Absent("the unit has no process")
            if nobody
            else Silent(f"no Python process in the unit could be seen ({one['none']})")
        )
    if not re.fullmatch(r"\d{1,10}", one.get("pid", "")) or "python" not in one:
        return reply.silence("packages of the serving interpreter")
    python, view = one["python"], one.get("view", "")
    roots = tuple(value for key, value in said if key == "root")
    matches = (_VERSION.fullmatch(line) for line in grepped.splitlines())
    told = {match["entry"]: match["version"] for match in matches if match}
    versions: dict[str, str] = {}
    where: dict[str, str] = {}
    others: dict[str, set[str]] = {}
    for entry in (value for key, value in said if key == "have"):
        parts = _ENTRY.fullmatch(entry)
        named = _NAMED.fullmatch(parts["name"]) if parts else None
        version = told.get(entry) or (named and named["version"])
        if parts is None or named is None or not version:
            continue
        name, folder = normalised(named["name"]), parts["folder"].removeprefix(view)
        if name not in versions:
            versions[name], where[name] = version, entry.removeprefix(view)
        elif where[name].rpartition("/")[0] == folder and versions[name] != version:
            others.setdefault(name, {versions[name]}).add(version)
    if not roots:
        return Silent(
            f"no package folder of {python} (pid {one['pid']}) can be seen: in a container?", python
        )
    return Value(
        Packages(
            interpreter=python,
            pid=int(one["pid"]),
            versions=versions,
            where=where,
            roots=roots,
            duplicates={name: tuple(sorted(found)) for name, found in others.items()},
            notes=tuple(value for key, value in said if key == "note"),
        ),
        python,
    )


PACKAGES: Probe[Packages] = Probe("packages", _SCRIPT, _parse)
"""The packages of the service's interpreter, whoever is logged in and whatever `python3` means to them."""
