"""Programs whose job is to start another one.

Law: a table, by base name, of how far each one's own words reach. Source: their manual pages.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How far a wrapper's own arguments reach.

    Attributes:
        valued: Options that take the next word as their value.
        words: Words of its own after the options: a CPU mask, a number of seconds, an image.
        verb: A first word that makes it a wrapper at all ("run" of `uv run`).
        switches: When given, every *other* option without `=` takes the next word.
    """

    valued: frozenset[str] = frozenset()
    words: int = 0
    verb: tuple[str, ...] = ()
    switches: frozenset[str] | None = None

    def takes(self, option: str) -> bool:
        """Whether an option takes the next word: not one with `=`, nor `-p80:80`, which bring their value along."""
        if "=" in option:
            return False
        if self.switches is None:
            return option in self.valued
        return option not in self.switches and (option.startswith("--") or len(option) == len("-p"))


def _options(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONTAINER = Wrapper(
    words=1,
    verb=("run", "exec"),
    switches=_options(
        "-d --detach --rm -i --interactive -t --tty -it -ti -dit -itd -id -di -td --init --privileged --read-only -P "
        "--publish-all --no-healthcheck --oom-kill-disable --sig-proxy --quiet -q --replace --tls-verify --rmi"
    ),
)
_RUNNER = Wrapper(
    verb=("run",),
    valued=_options(
        "-n --name -p --prefix --python --cwd --project --directory --with --with-editable --with-requirements --extra "
        "--group --env-file --index --index-url --extra-index-url --package --environment -e -C -w"
    ),
)
WRAPPERS: dict[str, Wrapper] = {
    "exec": Wrapper(_options("-a")),
    "env": Wrapper(_options("-u --unset -C --chdir")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "time": Wrapper(_options("-f --format -o --output")),
    "command": Wrapper(),
    "unbuffer": Wrapper(),
    "tini": Wrapper(_options("-p -e")),
    "dumb-init": Wrapper(_options("-r --rewrite")),
    "nice": Wrapper(_options("-n --adjustment")),
    "ionice": Wrapper(_options("-c --class -n --classdata")),
    "chrt": Wrapper(_options("-T -P -D"), words=1),
    "taskset": Wrapper(words=1),
    "numactl": Wrapper(
        _options(
            "-i --interleave -w --weighted-interleave -m --membind -N --cpunodebind -C --physcpubind -p --preferred "
            "-P --preferred-many"
        )
    ),
    "stdbuf": Wrapper(_options("-i --input -o --output -e --error")),
    "timeout": Wrapper(_options("-k --kill-after -s --signal"), words=1),
    "flock": Wrapper(_options("-w --wait --timeout -E"), words=1),
    "prlimit": Wrapper(_options("-p --pid -o --output")),
    "sudo": Wrapper(_options("-u --user -g --group -C -D -h -p -r -t -T -U")),
    "runuser": Wrapper(_options("-u --user -g --group -G --supp-group")),
    "gosu": Wrapper(words=1),
    "su-exec": Wrapper(words=1),
    "uvx": Wrapper(_options("--from --with -p --python --index --index-url --extra-index-url")),
    "setpriv": Wrapper(
        _options("--reuid --regid --groups --securebits --inh-caps --ambient-caps --bounding-set")
    ),
    "docker": _CONTAINER,
    "podman": _CONTAINER,
    "nerdctl": _CONTAINER,
    **dict.fromkeys(
        ("uv", "conda", "mamba", "micromamba", "poetry", "pipenv", "pdm", "pixi", "hatch"), _RUNNER
    ),
}
"""Programs that start another one, by base name. Source: their manual pages."""
