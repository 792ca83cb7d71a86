"""Which files on disk speak for a unit, and in which order: also those that the manager has not loaded.

Law: a question and its reader. The search follows systemd.unit(5), "Unit File Load Path"; what the files
mean is told by `unit_file`. Contents come line by line, each behind one blank, so that no content can look
like a header and a secret can be masked on the way.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dflash.facts import user_specifiers
from pytest_dflash.facts.access import WHOSE, Access, read_access
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.systemd import DiskFile, UnitFiles

DEFAULT_UNIT_PATH = (
    "/etc/systemd/system.control /run/systemd/system.control "
    "/run/systemd/transient /run/systemd/generator.early "
    "/etc/systemd/system /etc/systemd/system.attached /run/systemd/system /run/systemd/system.attached "
    "/run/systemd/generator /usr/local/lib/systemd/system /lib/systemd/system /usr/lib/systemd/system "
    "/run/systemd/generator.late"
)
"""Where systemd looks for units, first wins. Source: systemd.unit(5), for a manager that cannot be asked."""

_SCRIPT = r"""
emit() {
    if [ -c "$2" ]; then printf '%s\tmasked\t%s\n' "$1" "$2"
    elif [ -r "$2" ]; then
        printf 'access\t%s\t%s\n' "$(whose "$2")" "$2"
        printf '%s\t%s\t%s\n' "$1" "$(stat -L -c %Y -- "$2")" "$2"
        head -c 262144 -- "$2" | sed 's/^/ /'
        echo
    else printf '%s\tunreadable\t%s\n' "$1" "$2"
    fi
}
lines() { sed 's| /|\
/|g'; }
dirs=$(timeout 10 ${SYSTEMCTL:-systemctl} show --no-pager -p UnitPath --value | lines)
[ -n "$dirs" ] || dirs=$(echo "@DEFAULT@" | lines)
known=$(timeout 10 ${SYSTEMCTL:-systemctl} show --no-pager -p Names,FragmentPath,EnvironmentFiles -- "$UNIT")
tell() {
    # shellcheck disable=SC2015  # no answer is an answer
    [ -r "$2" ] && read -r said <"$2" && printf 'specifier\t%s\t%s\n' "$1" "$said" || :
}
tell H "$R/proc/sys/kernel/hostname"
tell v "$R/proc/sys/kernel/osrelease"
tell b "$R/proc/sys/kernel/random/boot_id"
tell m "$R/etc/machine-id"
if [ -n "$OWNER" ]; then
    printf 'manager\t%s\t%s\n' user "$OWNER" uid "$(id -u -- "$OWNER")" gid "$(id -g -- "$OWNER")" \
        group "$(id -gn -- "$OWNER")" home "$(getent passwd "$OWNER" | cut -d: -f6)" runtime "$XDG_RUNTIME_DIR"
    own=$(timeout 10 ${SYSTEMCTL:-systemctl} show --no-pager -p Version -p Environment)
    printf 'manager\tversion\t%s\n' "$(printf '%s\n' "$own" | sed -n 's/^Version=//p')"
    for variable in XDG_CACHE_HOME XDG_CONFIG_HOME XDG_STATE_HOME TMPDIR TEMP TMP; do
        case $own in *"$variable="*) ;; *Environment=*) printf 'manager\tunset\t%s\n' "$variable" ;; esac
    done
fi
names=$(printf '%s\n' "$known" | sed -n 's/^Names=//p')
fragment=$(printf '%s\n' "$known" | sed -n 's/^FragmentPath=//p')
[ -n "$names" ] || names=$UNIT

kinds=
for name in $names; do
    type=${name##*.}
    prefix=${name%.*}
    instance=
    case $prefix in *@*) instance=${prefix#*@} prefix=${prefix%%@*} ;; esac
    case $name in *@*) at=@ ;; *) at= ;; esac
    while :; do
        kinds="$kinds $prefix$at$instance.$type.d"
        [ -z "$instance" ] || kinds="$kinds $prefix@.$type.d"
        prefix=${prefix%-}
        case $prefix in *-*) prefix=${prefix%-*}- ;; *) break ;; esac
    done
done
template=
case $UNIT in *@*) template="${UNIT%%@*}@.${UNIT##*.}" ;; esac

newline='
'
one=$(printf '\001')
files=
plain_ifs=$IFS
find_fragment() {
    for name in "$UNIT" $template; do
        IFS=$newline
        for dir in $dirs; do
            IFS=$plain_ifs
            if [ -e "$dir/$name" ]; then file=$dir/$name; return; fi
        done
        IFS=$plain_ifs
    done
    file=$fragment
}
find_fragment
if [ -n "$file" ]; then emit fragment "$file"; files=$file; fi
drop_ins() {
    for kind in "$@"; do
        for conf in "$dir/$kind"/*.conf; do
            if [ -e "$conf" ]; then emit drop-in "$conf"; files=$files$newline$conf; fi
        done
        if [ -d "$dir/$kind" ] && [ ! -r "$dir/$kind" ]; then
            printf 'drop-in\tunreadable\t%s\n' "$dir/$kind"
        fi
    done
}
IFS=$newline
for dir in $dirs; do
    IFS=$plain_ifs
    # shellcheck disable=SC2086  # names of units hold no blanks
    drop_ins $kinds
done
IFS=$newline
for dir in $dirs; do drop_ins "$type.d"; done

named=$(
    for file in $files; do
        if [ -f "$file" ]; then
            sed -n 's/^[[:space:]]*EnvironmentFile[[:space:]]*=[[:space:]]*-\{0,1\}//p' "$file"
        fi
    done | sed "s/%%/$one/g; /%/d; s/$one/%/g"
    printf '%s\n' "$known" | sed -n 's/^EnvironmentFiles=\(.*\) (ignore_errors=[a-z]*)$/\1/p'
)
for pattern in $(printf '%s\n' "$named" | sort -u); do
    # shellcheck disable=SC2086  # EnvironmentFile= may be a pattern
    for file in $pattern; do
        if [ -e "$file" ]; then emit environment "$file"; continue; fi
        above=${file%/*}
        while [ -n "$above" ] && [ ! -e "$above" ]; do above=${above%/*}; done
        mark=missing
        [ -x "${above:-/}" ] || mark=unreadable
        printf 'environment\t%s\t%s\n' "$mark" "$file"
    done
done
echo end
"""


def _records(text: str) -> Iterator[tuple[str, str, str, str]]:
    """(kind, mark, path, content) of each file: a header, then its lines, each behind one blank."""
    kind = mark = path = ""
    content: list[str] = []
    for line in text.split("\n"):
        if line.startswith(" "):
            content.append(line[1:])
        elif line.count("\t") >= 2:
            if kind:
                yield kind, mark, path, "\n".join(content)
            kind, mark, path = line.split("\t", 2)
            content = []
    if kind:
        yield kind, mark, path, "\n".join(content)


def _read_unit_files(reply: Reply) -> Reading[UnitFiles]:
    if "end" not in reply.text.split("\n"):
        return reply.silence("reading the unit's files")
    seen: set[str] = set()
    found: dict[str, list[DiskFile]] = {"fragment": [], "drop-in": [], "environment": []}
    unreadable: list[str] = []
    masked: list[str] = []
    missing: list[str] = []
    lists = {"unreadable": unreadable, "missing": missing, "masked": masked}
    specifiers: dict[str, str] = {}
    manager: list[tuple[str, str]] = []
    accesses: dict[str, Access | None] = {}
    for kind, mark, path, content in _records(reply.text):
        if kind == "specifier":
            specifiers[mark] = path.replace("-", "") if mark == "b" else path
            continue
        if kind == "manager":
            manager.append((mark, path))
            continue
        if kind == "access":
            accesses[path] = read_access(mark)
        name = path.rsplit("/", 1)[-1]
        if kind not in found or (kind == "drop-in" and name in seen):
            continue
        if kind == "drop-in":
            seen.add(name)
        if mark in lists:
            lists[mark].append(path)
        else:
            mtime = float(mark) if mark.isascii() and mark.isdigit() else None
            found[kind].append(DiskFile(path, content, mtime, accesses.get(path)))
    fragments = found["fragment"]
    if not fragments and unreadable and not found["drop-in"]:
        return Silent(f"no permission to read {unreadable[0]}", unreadable[0])
    return Value(
        UnitFiles(
            fragment=fragments[0] if fragments else None,
            drop_ins=tuple(sorted(found["drop-in"], key=lambda file: file.path.rsplit("/", 1)[-1])),
            environment_files=tuple(found["environment"]),
            unreadable=tuple(unreadable),
            masked=tuple(masked),
            missing=tuple(missing),
            specifiers={**specifiers, **user_specifiers.told(manager)},
            by_user=bool(manager),
        ),
        fragments[0].path if fragments else "",
    )


UNIT_FILES: Probe[UnitFiles] = Probe(
    "unit-files", WHOSE + _SCRIPT.replace("@DEFAULT@", DEFAULT_UNIT_PATH), _read_unit_files
)
"""The disk's side: the manager's NeedDaemonReload misses new drop-in directories and files put back with an
older time, so the directories are listed here and compared with what is loaded."""
