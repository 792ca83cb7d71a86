"""Runs the truth server: prints its port, serves until it is ended.

Law: arguments in, a server out.

    python -m pytest_dflash.rehearsal.truth [--port 8000] [--core 0] [--realtime]
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os

from .server import Server


def main() -> None:
    """Serves."""
    parser = argparse.ArgumentParser(prog="python -m pytest_dflash.rehearsal.truth", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--core", type=int, help="run there only")
    parser.add_argument("--realtime", action="store_true", help="before anything else there (root)")
    given = parser.parse_args()
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    if given.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(20))
    server = Server(given.host, given.port)
    print(server.port, flush=True)  # noqa: T201 - what the caller waits for
    gc.freeze()
    gc.disable()
    with contextlib.suppress(KeyboardInterrupt):
        server.serve()
    server.close()


if __name__ == "__main__":
    main()
