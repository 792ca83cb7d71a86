"""samples/: a line a request, a line a look, no secret."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_dflash.load.sampling import Beside, Sight
from pytest_dflash.report import samples
from tests.rules.loads import load, measured, request


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_request_is_kept_with_its_plan_before_it(tmp_path: Path) -> None:
    found = measured(load(name="chat, one user"), [[request(3, text="the key is s3cr3t-key")]])
    samples.write(tmp_path / "samples", "gpu1", found, lambda text: text.replace("s3cr3t-key", "****"))
    first, instrument, kept = rows(tmp_path / "samples/throughput-gpu1-chat-one-user.jsonl")
    assert first["plan"]["text_class"] == "prose"  # type: ignore[index]  # the line is an object
    assert first["before"]["value"]["main_pid"] == 4121  # type: ignore[index]  # likewise
    assert instrument["repeat"] == 0
    assert (kept["repeat"], kept["index"], kept["output_tokens"]) == (0, 3, 101)
    assert kept["text"] == "the key is ****"


def test_the_looks_of_all_loads_of_a_host_are_in_one_file(tmp_path: Path) -> None:
    beside = Beside(sights=(Sight(at_s=1.0, running=2, queued=0, ours=2),))
    for name in ("one", "two"):
        samples.write(tmp_path, "gpu/1", measured(load(name=name), beside=beside), str)
    assert [row["load"] for row in rows(tmp_path / "host-gpu-1.jsonl")] == ["one", "two"]


def test_names_become_names_of_files() -> None:
    assert samples.plain("chat, one user") == "chat-one-user"
    assert samples.plain("../../etc/passwd") == "etc-passwd"
    assert samples.plain("…") == "load"
