"""Our load runner and other load clients, against a server whose true timing is known.

    python -m benchmarks.load_peers                      # every client that is there, three rounds
    python -m benchmarks.load_peers --quick              # ours only, two points: for CI
    python -m benchmarks.load_peers --clients ours,sgl-rust --rounds 5 --realtime

Each client is a process of its own on core 1, the truth server one on core 0. Rounds are interleaved: a busy moment
of the machine hits all clients alike; the median of the rounds is shown. An error is what was reported minus what
really happened. CPU is that of all the client's processes between its first request and its last byte; wall time
includes the start of the client. With --realtime (root) both run before anything else on this machine.
"""

from __future__ import annotations

import argparse
import bisect
import json
import os
import resource
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS, Peer, Reported, Work, mean, p99
from pytest_dflash.endpoint.client import Client
from pytest_dflash.load.self_test import truth_server

TOKENS = 128
POINTS = (
    *(("plain", 1, 8), ("plain", 16, 64), ("plain", 64, 256), ("plain", 256, 1024)),
    *(("spec", 1, 8), ("spec", 16, 64), ("spec", 64, 256), ("spec", 256, 1024)),
    *(("short", 16, 64), ("role", 16, 64)),
)
QUICK = (("plain", 1, 2), ("plain", 16, 32))
LONGEST_S = 240.0
SERVER_CORE, CLIENT_CORE, PRIORITY = 0, 1, 10
ACCOUNTS = Path("/sys/fs/cgroup/cpuacct")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One client at one point, in one round."""

    client: str
    scenario: str
    concurrency: int
    ttft_error_mean_ms: float
    ttft_error_p99_ms: float
    tpot_error: float
    reported_tokens_per_s: float
    true_tokens_per_s: float
    cpu_s_per_1000: float
    wall_s: float
    late_ms: float


class Meter:
    """CPU seconds of a process and all that it starts, over time."""

    def __init__(self, *, realtime: bool) -> None:
        self.realtime = realtime
        self.at: list[float] = []
        self.used: list[float] = []
        self.folder = ACCOUNTS / f"load-peers-{os.getpid()}"
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    @property
    def works(self) -> bool:
        """Whether there is an accounting group to be had (root, cgroup v1)."""
        with suppress(OSError):
            self.folder.mkdir(exist_ok=True)
        return (self.folder / "cpuacct.usage").exists()

    def _watch(self) -> None:
        if (
            self.realtime
        ):  # a sample that comes late holds what the client did afterwards: reading, writing, ending
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
        while not self.ended.wait(0.02):
            self.at.append(time.monotonic())
            self.used.append(int((self.folder / "cpuacct.usage").read_text()) / 1e9)

    def between(self, begin: float, end: float) -> float:
        """CPU seconds between these moments, of the monotonic clock."""
        return self._until(end) - self._until(begin)

    def _until(self, at: float) -> float:
        after = min(max(bisect.bisect_left(self.at, at), 1), len(self.at) - 1)
        span = self.at[after] - self.at[after - 1]
        share = min(max((at - self.at[after - 1]) / span, 0.0), 1.0)
        return self.used[after - 1] + share * (self.used[after] - self.used[after - 1])


@contextmanager
def metered(*, realtime: bool) -> Iterator[tuple[Meter | None, Callable[[], None]]]:
    """A meter, and what a process does before it becomes the client, so that it is metered."""
    meter = Meter(realtime=realtime)
    if not meter.works:
        yield None, lambda: None
        return

    def join() -> None:
        (meter.folder / "cgroup.procs").write_text(str(os.getpid()))

    meter.thread.start()
    try:
        yield meter, join
    finally:
        meter.ended.set()
        meter.thread.join()
        with suppress(OSError):
            meter.folder.rmdir()


def measure(peer: Peer, point: tuple[str, int, int], *, realtime: bool) -> Row:
    """One client at one point.

    Raises:
        RuntimeError: It failed, with the end of what it printed.
    """
    scenario, concurrency, requests = point
    with (
        truth_server("--core", str(SERVER_CORE), *(["--realtime"] if realtime else [])) as url,
        tempfile.TemporaryDirectory() as folder,
        metered(realtime=realtime) as (meter, join),
        Client(url) as client,
    ):
        work = Work(
            url=url,
            scenario=scenario,
            concurrency=concurrency,
            requests=requests,
            tokens=TOKENS,
            folder=Path(folder),
        )

        def become() -> None:
            join()
            os.sched_setaffinity(0, {CLIENT_CORE})
            if realtime:
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))

        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.monotonic()
        said = subprocess.run(
            [peer.program, *peer.command(work)],
            env={**os.environ, **OFFLINE, **peer.environment},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=become,
            timeout=LONGEST_S,
            check=False,
        )
        wall_s = time.monotonic() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if said.returncode:
            raise RuntimeError(
                f"it ended with {said.returncode}: {said.stdout.decode(errors='replace')[-400:]}"
            )
        truths = client.get("/truth").document()[-requests:]
        begin = min(truth["there_at_s"] for truth in truths)
        end = max(truth["last_at_s"] for truth in truths)
        whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cpu_s = meter.between(begin, end) if meter else whole
        return row(peer.name, point, peer.read(Path(folder)), truths, cpu_s=cpu_s, wall_s=wall_s)


OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "NO_COLOR": "1"}


def row(  # noqa: PLR0913 - what there is to compare
    client: str,
    point: tuple[str, int, int],
    reported: Reported,
    truths: Sequence[dict[str, Any]],
    *,
    cpu_s: float,
    wall_s: float,
) -> Row:
    """Reported against true."""
    ttft = [truth["first_at_s"] - truth["there_at_s"] for truth in truths]
    tpot = [(truth["last_at_s"] - truth["first_at_s"]) / (truth["tokens"] - 1) for truth in truths]
    tokens = sum(truth["tokens"] for truth in truths)
    took = max(truth["last_at_s"] for truth in truths) - min(truth["there_at_s"] for truth in truths)
    return Row(
        client=client,
        scenario=point[0],
        concurrency=point[1],
        ttft_error_mean_ms=1000 * (reported.ttft_mean_s - mean(ttft)),
        ttft_error_p99_ms=1000 * (reported.ttft_p99_s - p99(ttft)),
        tpot_error=reported.tpot_s / mean(tpot) - 1,
        reported_tokens_per_s=reported.tokens_per_s,
        true_tokens_per_s=tokens / took,
        cpu_s_per_1000=1000 * cpu_s / tokens,
        wall_s=wall_s,
        late_ms=1000 * max(truth["late_s"] for truth in truths),
    )


def median(rows: Sequence[Row]) -> Row:
    """The middle of each column, the client's and the point's own ones kept."""
    first = asdict(rows[0])
    columns = {name: [getattr(each, name) for each in rows] for name in first}
    return Row(**{name: statistics.median(column) if isinstance(column[0], float) else column[0]
                  for name, column in columns.items()})  # fmt: skip


def shown(rows: Sequence[Row]) -> Iterator[str]:
    """A table for people, in Markdown."""
    yield (
        "| scenario | streams | client | TTFT error ms, mean | p99 | TPOT error | tok/s reported / true "
        "| CPU s per 1,000 tokens | wall s | rounds | server late ms |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, int, str], list[Row]] = {}
    for each in rows:
        groups.setdefault((each.scenario, each.concurrency, each.client), []).append(each)
    for group in groups.values():
        each = median(group)
        yield (
            f"| {each.scenario} | {each.concurrency} | {each.client} | {each.ttft_error_mean_ms:+.2f} "
            f"| {each.ttft_error_p99_ms:+.2f} | {100 * each.tpot_error:+.2f} % "
            f"| {each.reported_tokens_per_s:.0f} / {each.true_tokens_per_s:.0f} | {each.cpu_s_per_1000:.4f} "
            f"| {each.wall_s:.1f} | {len(group)} | {each.late_ms:.1f} |"
        )


def main() -> None:
    """Measures, and prints one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", default=",".join(peer.name for peer in PEERS))
    parser.add_argument("--points", help='such as "plain:64,spec:16"; all where left out')
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="ours only, one round of two small points")
    parser.add_argument("--realtime", action="store_true", help="before anything else on this machine (root)")
    parser.add_argument("--minutes", type=float, default=30.0, help="no further run is begun after so many")
    parser.add_argument("--json", metavar="PATH", help="also append every row there, one JSON a line")
    given = parser.parse_args()
    wanted = ["ours"] if given.quick else given.clients.split(",")
    chosen = given.points.split(",") if given.points else None
    points = [
        point
        for point in (QUICK if given.quick else POINTS)
        if chosen is None or f"{point[0]}:{point[1]}" in chosen
    ]
    peers = [peer for peer in PEERS if peer.name in wanted and peer.program.exists()]
    for name in set(wanted) - {peer.name for peer in peers}:
        print(f"{name}: not there; benchmarks/peers.py says how to install it")
    rows: list[Row] = []
    end = time.monotonic() + 60 * given.minutes
    for _ in range(1 if given.quick else given.rounds):
        for point in points:
            for peer in peers:
                if time.monotonic() > end:
                    print("the time is up: what follows is what there is")
                    break
                try:
                    found = measure(peer, point, realtime=given.realtime)
                except (RuntimeError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
                    print(f"{peer.name} at {point[0]}:{point[1]}: {error}")
                    continue
                rows.append(found)
                if given.json:
                    with Path(given.json).open("a") as lines:
                        lines.write(json.dumps(asdict(found)) + "\n")
    print("\n".join(shown(rows)))


if __name__ == "__main__":
    main()
