"""Units that start a container: what the unit runs is a client, and the engine has another environment.

Law: clients are played by a script; the flags are read as docker's and podman's clients take them. Processes are real.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import layout
from pytest_dflash.rehearsal.faults import command
from pytest_dflash.rehearsal.manager import CONTAINERS
from pytest_dflash.rehearsal.oddities.oddity import Oddity

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.faults.stages import Stage
    from pytest_dflash.rehearsal.host import StandInHost

CLIENT = """#!/bin/sh
# Starts the engine with the environment of --env-file alone, shows its output, passes signals on, ends with it.
state={state}
case $1 in
inspect)
    for name in "$@"; do :; done
    cat "$state/$name" 2>/dev/null && exit
    echo "Error: No such object: $name" >&2
    exit 1 ;;
run) shift ;;
*) echo "stand-in client: unknown verb $1" >&2; exit 64 ;;
esac
name=nameless
while case $1 in -*) ;; *) break ;; esac; do
    case $1 in
    --name) name=$2; shift ;;
    --env-file=*) variables=${{1#*=}} ;;
    esac
    shift
done
shift
while IFS= read -r variable; do set -- "$variable" "$@"; done <"$variables"
{apart} setpriv --pdeathsig KILL env -i "$@" &
child=$!
mkdir -p "$state"
{known}
trap 'kill -TERM "$child"' TERM INT
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; status=$?; done
exit "$status"
"""


def container(client: str, options: str, *, apart: bool, known: bool = True) -> Stage:
    """Lets the unit start the engine in a container.

    Args:
        client: docker or podman.
        options: Further options of `run`.
        apart: The container's processes are in a control group of their own, not in the unit's.
        known: The client knows the container by its name.
    """

    def stage(host: StandInHost) -> None:
        program, state = host.bin / client, host.folder / CONTAINERS
        tell = 'echo "$child" >"$state/$name"' if apart else ""
        script = CLIENT.format(state=shlex.quote(str(state)), apart="setsid" if apart else "", known=tell)
        program.write_text(script if known else script.replace("inspect)", "inspected)"), "utf-8")
        program.chmod(0o755)
        inside = host.root / "etc/sglang/container.env"
        own = layout.environment_text(host.root).replace("OMP_NUM_THREADS=8", "OMP_NUM_THREADS=4")
        inside.write_text(f"{own}CUDA_HOME={host.root}/usr/local/cuda\n", "utf-8")
        words = f"run --rm {options} --network=host --gpus=all --env-file={layout.quoted(str(inside))}"
        command.behind(f"{layout.quoted(str(program))} {words} lmsysorg/sglang:v0.5.23 ")(host)

    return stage


UNKNOWN = "only starts a container whose processes are not known: give it a name (--name)"
NO_PYTHON = "no Python process in the unit could be seen"
CONTAINED = (
    Oddity(
        "podman-unit",
        "a podman container whose processes are in the unit's control group, as Quadlet makes it",
        before=container("podman", "--cgroups=split --sdnotify=conmon", apart=False),
        places=("command",),
    ),
    Oddity(
        "docker-unit",
        "a docker container: the unit runs the client, and the daemon the engine, with an environment of its own",
        before=container("docker", "--name k26", apart=True),
        places=("command",),
    ),
    Oddity(
        "docker-without-a-name",
        "a docker container without a name, so that its processes cannot be told from others",
        before=container("docker", "", apart=True, known=False),
        places=("command",),
        unseen={
            "gpu.foreign_processes": UNKNOWN,
            "flags.environment": UNKNOWN,
            "flags.no_knobs": UNKNOWN,
            "flags.plain_environment": UNKNOWN,
            "stack.package": NO_PYTHON,
            "stack.companions": NO_PYTHON,
            "stack.torch_and_toolkit": NO_PYTHON,
            "stack.built_for_gpus": NO_PYTHON,
        },
    ),
)
