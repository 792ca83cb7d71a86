"""Loads in other processes: how many restarts that takes, and in which process each is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_dflash.errors import LoadBroken
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.fresh_loads import FreshLoads
from pytest_dflash.levels import Allowed
from pytest_dflash.lifecycle.changing import PLAIN, Budgets
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.profile.schema import Profile
from tests.rules.loads import WHO, load, measured

EVERYTHING = Allowed(("load", "reconfigure"))
FLAGS = ("speculative-algorithm", "speculative-num-draft-tokens")


class World:
    """A unit that counts its restarts, and loads that note in which process they were measured."""

    def __init__(self, *loads: dict[str, Any], allowed: Allowed = EVERYTHING, ready: bool = True) -> None:
        each = [load(**wanted) for wanted in loads]
        service = {"unit": "engine.service", "engine": "sglang"}
        self.profile = Profile.model_validate({"service": service}).model_copy(
            update={"throughput": tuple(each)}
        )
        self.named = {one.name: one for one in each}
        self.process, self.steps, self.ready = 1, [], ready  # type: ignore[var-annotated]  # of names
        self.tried: frozenset[str] = frozenset()
        self.breaks: frozenset[str] = frozenset()
        self.known: dict[str, Measurement] = {}
        run = SimpleNamespace(
            profile=self.profile,
            allowed=allowed,
            controller=SimpleNamespace(restart=self.restart, put_back=self.put_back),
            speculative_flags=FLAGS,
            dialect=SimpleNamespace(scoring=lambda: SimpleNamespace(speculative_flags=("speculative-",))),
        )
        changing = SimpleNamespace(apply=self.apply, controller=run.controller)
        self.budgets = Budgets(changing, self.profile.tree, None)  # type: ignore[arg-type]  # stands in
        self.fresh = FreshLoads(run, self)  # type: ignore[arg-type]  # stand in

    def restart(self) -> None:
        self.process += 1
        self.steps.append("restart")

    def put_back(self) -> None:
        self.process += 1
        self.steps.append("put back")

    def apply(self, changes: dict[str, Any]) -> Any:
        self.process += 1
        self.steps.append(f"without {' '.join(changes)}" if None in changes.values() else f"with {changes}")
        settled = SimpleNamespace(why="a port is taken", phase="failed")
        return SimpleNamespace(restart=SimpleNamespace(ready=self.ready, settled=settled), proofs=())

    def identity(self) -> Reading[Identity]:
        return Value(replace(WHO, main_pid=self.process))

    def measure(self, name: str) -> Measurement:
        if name not in self.known:
            self.known[name] = self.made(name)
            self.tried |= {name}
        return self.known[name]

    def all(self) -> tuple[Measurement, ...]:
        return tuple(self.measure(name) for name in self.named)

    def afresh(self, name: str, label: str, enough: Callable[..., bool] | None = None) -> Measurement:
        if name in self.breaks:
            raise LoadBroken(name, f"the load {name!r} broke")
        plain = enough is not None
        return replace(self.made(name, 0.05 if plain else 0.02, None if plain else 4.0), label=label)

    def made(self, name: str, tpot_s: float = 0.02, accept_length: float | None = 4.0) -> Measurement:
        self.steps.append(f"{name} in {self.process}")
        found, now = measured(self.named[name], tpot_s=tpot_s, accept_length=accept_length), self.identity()
        return replace(found, before=now, after=now)


def test_each_start_measures_all_loads_that_want_it() -> None:
    world = World({"name": "a", "starts": 3}, {"name": "b", "starts": 2}, {"name": "c"})
    outcomes = [world.fresh.at_each_start(name).outcome for name in "abc"]
    assert outcomes == [Outcome.PASS, Outcome.PASS, Outcome.NOT_APPLICABLE]
    assert world.steps == [
        "a in 1", "b in 1", "c in 1", "restart", "a in 2", "b in 2", "restart", "a in 3",
    ]  # fmt: skip


def test_a_restart_that_somebody_else_made_is_a_start_too() -> None:
    world = World({"name": "a", "starts": 2})
    world.measure("a")
    world.restart()
    found = world.fresh.at_each_start("a")
    assert found.summary.startswith("2 starts are alike")
    assert world.steps == ["a in 1", "restart", "a in 2"]


def test_a_load_that_breaks_after_a_restart_is_broken_for_itself_alone() -> None:
    world = World({"name": "a", "starts": 2}, {"name": "b", "starts": 2})
    world.breaks = frozenset({"a"})
    with pytest.raises(LoadBroken, match="the load 'a' broke"):
        world.fresh.at_each_start("a")
    assert world.fresh.at_each_start("b").outcome is Outcome.PASS
    assert world.steps.count("restart") == 1


def test_without_speculation_is_one_restart_for_all_loads() -> None:
    world = World({"name": "a"}, {"name": "b"})
    found = [world.fresh.beside_plain(name, world.budgets) for name in "ab"]
    assert [each.outcome for each in found] == [Outcome.PASS, Outcome.PASS]
    assert found[0].summary.startswith("speculation pays: 2.36 times plain decoding")
    taken = f"without {' '.join(FLAGS)}"
    assert world.steps == ["a in 1", "b in 1", taken, "a in 2", "b in 2"]
    assert world.budgets.at == PLAIN
    world.fresh.beside_plain("a", world.budgets)
    assert len(world.steps) == 5


def test_the_reference_of_the_tree_serves_for_loads_that_were_measured_before_it() -> None:
    world = World({"name": "a"})
    world.measure("a")
    world.budgets.without(FLAGS)
    assert world.fresh.beside_plain("a", world.budgets).outcome is Outcome.PASS
    assert world.steps == ["a in 1", f"without {' '.join(FLAGS)}", "a in 2"]


def test_loads_that_nobody_measured_yet_are_measured_of_the_unit_as_it_was() -> None:
    world = World({"name": "a"})
    world.budgets.without(FLAGS)
    assert world.fresh.beside_plain("a", world.budgets).outcome is Outcome.PASS
    taken = f"without {' '.join(FLAGS)}"
    assert world.steps == [taken, "put back", "a in 3", taken, "a in 4"]


def test_counters_that_fall_silent_without_speculation_prove_no_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    world, deaf = World({"name": "a"}), (Silent("GET /metrics answered 404"),)
    told = world.afresh
    monkeypatch.setattr(world, "afresh", lambda *of: replace(told(*of), counters=deaf))
    found = world.fresh.beside_plain("a", world.budgets)
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary == (
        "whether the engine drafts without speculative-algorithm, speculative-num-draft-tokens is not known, so it is "
        "nothing to compare with: GET /metrics answered 404"
    )
    assert found.param == "a"


def test_a_unit_that_does_not_start_without_speculation_proves_nothing() -> None:
    found = World({"name": "a"}, ready=False)
    told = found.fresh.beside_plain("a", found.budgets)
    assert told.outcome is Outcome.UNPROVEN
    assert told.summary == (
        "the engine does not get ready without speculation, so that there is nothing to compare with: a port is taken"
    )


@pytest.mark.parametrize(
    "asked", [lambda world, name: world.fresh.beside_plain(name, world.budgets),
              lambda world, name: world.fresh.at_each_start(name)]
)  # fmt: skip
def test_without_leave_to_load_or_without_a_load_nothing_is_restarted(
    asked: Callable[[World, str | None], Judgement],
) -> None:
    world = World({"name": "a", "starts": 2}, allowed=Allowed(("read", "reconfigure")))
    told = asked(world, "a")
    assert told.outcome is Outcome.NOT_RUN
    assert told.summary.startswith("needs --dflash-allow=load,re")
    assert asked(world, None).outcome is Outcome.NOT_APPLICABLE
    assert world.steps == []


def test_a_load_of_one_process_sends_nothing_for_its_starts() -> None:
    world = World({"name": "a"})
    found = world.fresh.at_each_start("a")
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert "[[throughput]] starts = 3" in found.summary
    assert world.steps == []
