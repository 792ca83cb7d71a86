"""The service's own process, found in sh by the probes that need its argv or environment.

Law: sh text only. MainPID may be a wrapper and a worker has no argv, so the process is looked for; who knows
the port and the engine looks again, on the values (`procfs.serving_process`).
"""

from __future__ import annotations

SERVICE_PROCESS = r"""
# Sets pid and dir to the process that speaks for the service: the first Python of the unit that is no
# launcher (conda run, uv run), else MAIN_PID. Sets argv (one argument a line) and exe.
launcher() {
    case ${1##*/} in conda|mamba|micromamba|uv|poetry|pipx|hatch|pdm|supervisord) return 0 ;; esac
    return 1
}
arguments() { timeout 5 head -c 262144 "$R/proc/$1/cmdline" 2>/dev/null | tr '\n\0' ' \n'; }
pid= dir= argv= exe= fallback=
for candidate in $PIDS; do
    exe=$(readlink -m "$R/proc/$candidate/exe" 2>/dev/null) || exe=
    case $exe in "$R"/proc/*) exe= ;; esac
    argv=$(arguments "$candidate")
    first=${argv%%"
"*}
    case ${exe##*/}:${first##*/} in
        python*|pypy*|:python*|:pypy*) ;;
        *) continue ;;
    esac
    rest=${argv#*"
"}
    second=${rest%%"
"*}
    launcher "$second" && continue
    [ -n "$fallback" ] || fallback=$candidate
    case $second in -c) continue ;; esac
    pid=$candidate
    break
done
[ -n "$pid" ] || pid=${fallback:-${MAIN_PID:-0}}
dir=$R/proc/$pid
argv=$(arguments "$pid")
exe=$(readlink -m "$dir/exe" 2>/dev/null) || exe=
case $exe in "$R"/proc/*) exe= ;; esac
# readable: whether its environment could be read. variable NAME: sets value to what NAME is there.
readable=no
environment=$(timeout 5 head -c 262144 "$dir/environ" 2>/dev/null | tr '\n\0' ' \n')
[ -z "$environment" ] || readable=yes
variable() {
    case "
$environment" in *"
$1="*) ;; *) return 1 ;; esac
    value="
$environment"
    value=${value#*"
$1="}
    value=${value%%"
"*}
}
# view: the prefix under which the paths of that process are found (another root in a container).
view=
[ -d "$dir/root/proc" ] && view=$dir/root
"""
"""sh: sets `pid dir argv exe environment readable view` of the service, and `variable NAME` sets `value`."""

EACH_ARGUMENT = r"""
each_argument() { # calls `argument FLAG VALUE` for each value behind a flag, as `--flag value` or `--flag=value`
    flag=
    while IFS= read -r word; do
        case $word in
            -*=*) name=${word%%=*} target=${word#*=} ;;
            *) name=$flag target=$word ;;
        esac
        case $word in -*) flag=$word ;; *) flag= ;; esac
        argument "$name" "$target"
    done <<END
$argv
END
}
"""
"""sh: `each_argument` of that process; whoever calls it has defined `argument`."""
