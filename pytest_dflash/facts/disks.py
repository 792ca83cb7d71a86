"""Disks below the service: space and inodes of what it reads and writes, and shared memory.

Law: df and nothing else. Which paths matter is read from the service's own argv and environment, by shape
(an absolute path), so that no engine is named here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.service import SERVICE_PROCESS


@dataclass(frozen=True, slots=True)
class Disk:
    """One mounted file system, or a path whose file system gave no answer.

    Attributes:
        used_for: Purpose to path: {"--model-path": "/srv/models/k26", "journal": "/var/log/journal"}.
        available_bytes: What a user without privileges can still write.
        unread: Why df told nothing of this path, which then stands in `mount`; sizes are 0.
        inodes: None where the file system has no fixed number (btrfs, some network file systems).
        read_only: Nobody writes there (an image of a model, squashfs), so nothing can fill it up.
    """

    mount: str
    device: str
    size_bytes: int
    available_bytes: int
    inodes: int | None
    inodes_free: int | None
    used_for: Mapping[str, str]
    unread: str = ""
    read_only: bool = False


_ASK = r"""
ask() {
    printf '\npath %s=%s\n' "$1" "$2"
    timeout -k 1 5 df -P -k "$2" 2>&1 || echo "df ended with $?"
    timeout -k 1 5 df -P -i "$2" 2>/dev/null
}
"""

_DISKS_SCRIPT = (
    SERVICE_PROCESS
    + _ASK
    + r"""
echo "readable=$readable"
while read -r _ point kind options _; do
    case ,$options, in *,ro,*) echo "read-only $point" ;; *) echo "writable $point" ;; esac
done <"$R/proc/self/mounts" 2>/dev/null
wanted=
want() { wanted="$wanted$1=$2
"; }
want root /
want tmp /tmp
if [ -d /var/log/journal ]; then want journal /var/log/journal; else want journal /run/log/journal; fi
for name in HOME HF_HOME HF_HUB_CACHE XDG_CACHE_HOME TRITON_CACHE_DIR TORCHINDUCTOR_CACHE_DIR TMPDIR STATE_DIRECTORY; do
    variable "$name" && want "$name" "$value"
done
# Arguments that are paths: `--model-path /srv/x` and `--model-path=/srv/x`; the program itself is none of them.
flag= first=yes count=0
while IFS= read -r word; do
    case $word in
        --*=/*) name=${word%%=*} target=${word#*=} ;;
        /*) name=${flag:-argument} target=$word ;;
        *) name= target= ;;
    esac
    case $word in -*) flag=$word ;; *) flag= ;; esac
    [ -z "$first" ] || { first=; continue; }
    [ -n "$target" ] || continue
    [ "$count" -lt 8 ] || break
    count=$((count + 1))
    want "$name" "$target"
done <<END
$argv
END

# What can be seen is asked together. One that hangs or fails takes the others with it, so then each is asked alone;
# what cannot be seen is asked alone at once: a stale mount looks like a missing file, and df tells them apart.
set --
alone= together=
while IFS= read -r line; do
    case $line in
        '') continue ;;
    esac
    if [ -e "${line#*=}" ]; then
        set -- "$@" "${line#*=}"
        together="${together}path $line
"
    else
        alone="$alone$line
"
    fi
done <<END
$wanted
END
if space=$(timeout -k 1 5 df -P -k "$@" 2>/dev/null); then
    printf '\n%s%s\n' "$together" "$space"
    timeout -k 1 5 df -P -i "$@" 2>/dev/null
else
    alone=$wanted
fi
while IFS= read -r line; do
    [ -z "$line" ] || ask "${line%%=*}" "${line#*=}"
done <<END
$alone
END
exit 0
"""
)

_SHARED_SCRIPT = (
    _ASK
    + r"""
for folder in "$R/proc/${MAIN_PID:-0}/root/dev/shm" "$R/dev/shm"; do
    [ -d "$folder" ] && ask /dev/shm "$folder" && exit 0
done
echo 'no /dev/shm, neither in the root of the main process nor on the host' >&2
exit 1
"""
)

_ROW = re.compile(
    r"^(?P<device>\S.*?)\s+(?P<size>\d+|-)\s+(?:\d+|-)\s+(?P<free>-?\d+|-)\s+(?:\d+%|-)\s+(?P<mount>\S.*)$"
)


def _blocks(text: str) -> list[tuple[str, str, list[re.Match[str]], str]]:
    """Purpose, path, the rows that df printed for it (space, then inodes), and all that it said.

    Headers `path PURPOSE=PATH` stand together before an answer that has one row for each of them, in their order.
    """
    blocks = []
    for block in re.finditer(r"((?:^path .*\n)+)((?:(?!path ).*(?:\n|\Z))*)", text, re.MULTILINE):
        headers = [line.removeprefix("path ").partition("=") for line in block[1].splitlines()]
        rows = [row for line in block[2].splitlines() if (row := _ROW.match(line))]
        for at, (purpose, _, path) in enumerate(headers):
            mine = rows[at :: len(headers)] if len(rows) % len(headers) == 0 else []
            blocks.append((purpose, path, mine, block[2].strip()))
    return blocks


def _read_only(text: str) -> frozenset[str]:
    """The mount points that are read-only; of several mounts on one point the last one counts."""
    said = re.findall(r"^(read-only|writable) (/.*)$", text, re.MULTILINE)
    last = {re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), point): word for word, point in said}
    return frozenset(point for point, word in last.items() if word == "read-only")


def _disk(
    rows: list[re.Match[str]], used_for: Mapping[str, str], read_only: frozenset[str] = frozenset()
) -> Disk | None:
    size, free = (whole(rows[0]["size"]), whole(rows[0]["free"])) if rows else (None, None)
    if size is None or free is None:
        return None
    inodes = whole(rows[1]["size"]) if len(rows) > 1 else None
    return Disk(
        mount=rows[0]["mount"],
        device=rows[0]["device"],
        size_bytes=size * 1024,
        available_bytes=free * 1024,
        inodes=inodes or None,
        inodes_free=whole(rows[1]["free"]) if inodes else None,
        used_for=used_for,
        read_only=rows[0]["mount"] in read_only,
    )


def _parse(reply: Reply) -> Reading[tuple[Disk, ...]]:
    found: dict[str, tuple[list[re.Match[str]], dict[str, str]]] = {}
    unread: list[Disk] = []
    read_only = _read_only(reply.text.partition("\npath ")[0])
    for purpose, path, rows, said in _blocks(reply.text):
        if _disk(rows, {}):
            found.setdefault(rows[0]["mount"], (rows, {}))[1].setdefault(purpose, path)
        elif (
            "No such file" not in said
        ):  # what is not there has no disk; a stale handle has one, out of reach
            why = f"`df -P -k {path}` told no size: {'; '.join(said.splitlines())[:200] or 'nothing'}"
            unread.append(Disk(path, "", 0, 0, None, None, {purpose: path}, unread=why))
    disks = tuple(one for rows, used_for in found.values() if (one := _disk(rows, used_for, read_only)))
    if not disks:
        return Silent(unread[0].unread, "df -P -k") if unread else reply.silence("df -P -k /")
    unseen = " (the service's environment is not readable: its caches are not looked at)"
    where = "df -P -k; df -P -i" + (unseen if reply.text.startswith("readable=no") else "")
    return Value((*disks, *unread), where)


def _parse_shared(reply: Reply) -> Reading[Disk]:
    for purpose, path, rows, said in _blocks(reply.text):
        if one := _disk(rows, {purpose: path}):
            return Value(replace(one, mount=purpose), f"df -P -k {path}")  # as the service calls it
        return Silent(f"`df -P -k {path}` told no size: {said[:200]!r}", f"df -P -k {path}")
    return reply.silence("df -P -k /dev/shm")


DISKS: Probe[tuple[Disk, ...]] = Probe("disks", _DISKS_SCRIPT, _parse)
"""The file systems of root, tmp, journal, and of the paths in the service's argv and environment."""

SHARED_MEMORY: Probe[Disk] = Probe("shared-memory", _SHARED_SCRIPT, _parse_shared)
"""Shared memory as the service's main process sees it: a container's own may be 64 MiB."""
