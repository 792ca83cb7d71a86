"""Our runner as a process of its own, and the same loop over aiohttp: two of the clients that `load_peers` compares.

    python -m benchmarks.own_client ours http://127.0.0.1:8000 plain 64 256 128 out.json

The second differs in the transport only: same prompts, same warm-up, bytes stamped as they come, read afterwards.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import uvloop

from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.door import Door
from pytest_dflash.load.asking import request
from pytest_dflash.load.exchange import Exchange
from pytest_dflash.load.plan import Plan
from pytest_dflash.load.records import RequestRecord
from pytest_dflash.load.runner import run
from pytest_dflash.load.stream import record
from pytest_dflash.load.wave import undisturbed
from pytest_dflash.load.workload import prompt_of

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def ours(door: Door, plan: Plan) -> Sequence[RequestRecord]:
    """The runner."""
    return run(door, plan, decided=lambda _: True).repeats[0].requests


def over_aiohttp(door: Door, plan: Plan) -> Sequence[RequestRecord]:
    """The same closed loop, over aiohttp."""
    return uvloop.run(_aiohttp(door, plan))


async def _aiohttp(door: Door, plan: Plan) -> Sequence[RequestRecord]:
    url = f"{door.address.api}/chat/completions"
    bodies = [
        request(door, plan, prompt_of(plan, index, 4.0).text, plan.output_tokens).partition(b"\r\n\r\n")[2]
        for index in range(plan.requests)
    ]
    waiting = [Exchange(index, body) for index, body in enumerate(bodies)]
    over: list[Exchange] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def stream(queue: list[Exchange]) -> None:
            while queue:
                exchange = queue.pop(0)
                exchange.raw += HEAD
                exchange.due_at_s = exchange.sent_at_s = time.monotonic()
                async with session.post(
                    url, data=exchange.request, headers={"content-type": "application/json"}
                ) as answer:
                    async for piece in answer.content.iter_any():
                        exchange.stamps.append(time.monotonic())
                        exchange.raw += piece
                        exchange.ends.append(len(exchange.raw))
                exchange.ended_at_s = exchange.stamps[-1]
                over.append(exchange)

        first = [Exchange(-1, bodies[0], stamps=array("d"))]
        await stream(first)
        over.clear()
        with undisturbed():
            await asyncio.gather(*(stream(waiting) for _ in range(plan.concurrency)))
    return [record(exchange) for exchange in over]


CLIENTS = {"ours": ours, "aiohttp": over_aiohttp}


def main(client: str, url: str, scenario: str, *numbers: str) -> None:
    """Runs one, and writes what it reports."""
    concurrency, requests, tokens = map(int, numbers[:3])
    plan = Plan(
        text_class="prose",
        concurrency=concurrency,
        prompt_tokens=64,
        output_tokens=tokens,
        per_stream=max(requests // concurrency, 1),
        max_repeats=1,
        ignore_eos=True,
    )
    with Client(url, served_model=scenario) as way:
        records = CLIENTS[client](way.door(), plan)
    answered = [each for each in records if each.ok]
    took = max(each.ended_at_s for each in records) - min(each.sent_at_s for each in records)
    Path(numbers[3]).write_text(
        json.dumps(
            {
                "ttft_s": [each.ttft_s for each in answered],
                "tpot_s": [each.tpot_s for each in answered],
                "tokens_per_s": sum(each.output_tokens or 0 for each in answered) / took,
                "failed": len(records) - len(answered),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
