"""What the rest of the tool asks of an engine.

Law: a Protocol and its values; no engine is named here. A *setting* is named by its flag as the newest
version spells it, kebab-case, without dashes in front: "speculative-draft-window-size". Where a flag's value is
JSON, each key inside of it is a setting of its own, after a dot and as JSON spells it:
"speculative-config.num_speculative_tokens".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_dflash.engines.scoring import Scoring
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Reading
from pytest_dflash.findings import Json


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings by name. `spelled` tells under which name each was found, where it differs ("renamed flag")."""

    values: Mapping[str, Json]
    where: str
    spelled: Mapping[str, str]
    complete: bool = True  # False: settings may be missing (a --config file that could not be read)

    def inside(self, setting: str) -> dict[str, Json]:
        """The settings whose names begin with this one and a dot, put together as the JSON object that they are."""
        whole: dict[str, Json] = {}
        for name in [each for each in self.values if each.startswith(f"{setting}.")]:
            *outer, last = name[len(setting) + 1 :].split(".")
            here = whole
            for key in outer:
                deeper = here.setdefault(key, {})
                if not isinstance(deeper, dict):
                    break
                here = deeper
            here[last] = self.values[name]
        return whole


@dataclass(frozen=True, slots=True)
class Warning_:  # noqa: N801 - `Warning` is Python's own
    """A line of this invocation in which the engine says that it ignores or replaces a setting.

    `about`: how the names of the checks begin that it explains, behind their area ("sampling": tree.sampling); "" for
    none. `cause` and `remedy`: what it means and what to do, where that is known better than by its kind.
    """

    setting: str | None
    message: str
    where: str
    kind: str = "ignored"  # ignored, removed, replaced, fallback, resolved, deprecated
    alarming: bool = True  # False: informational, the setting still works or the engine may do so
    about: str = ""
    cause: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Decode:
    """An engine's account of the decode steps since its last such line.

    Attributes:
        at_us: When it was written, microseconds of the host's clock.
        rank: "DP0 TP0", or "".
        running: Requests in the batch. queued: requests that wait.
        accept_len: Generated tokens per verify step, the bonus token included; None when speculation is off.
        accept_rate: Accepted drafts per proposed draft.
        graph: Whether the steps ran as a captured graph.
        tokens_per_s: Generated tokens per second, all requests together.
    """

    at_us: int
    rank: str
    running: int
    queued: int | None
    accept_len: float | None
    accept_rate: float | None
    graph: bool | None
    tokens_per_s: float | None


@dataclass(frozen=True, slots=True)
class Load:
    """The requests that an engine has at a moment: those in the batch, and those that wait.

    `asleep`: whether it was put to sleep, so that it answers nothing until it is woken; None when it does not tell.
    """

    running: int
    queued: int
    asleep: bool | None = None

    @property
    def idle(self) -> bool:
        """Whether it has none."""
        return self.running <= 0 and self.queued <= 0

    def __str__(self) -> str:
        return f"{self.running} running and {self.queued} queued"


@dataclass(frozen=True, slots=True)
class Route:
    """A route, for the question whether it answers without a key.

    Attributes:
        path: Below the engine's root. A GET of it does nothing: it is read, or it takes another method only.
        gives: What whoever reaches it can do, as a verb: "generates text".
        serves: It serves the model or moves the engine. False: it only tells.
    """

    path: str
    gives: str
    serves: bool = True


class Dialect(Protocol):
    """One engine."""

    name: str

    def runs(self, argv: Sequence[str]) -> bool:
        """Whether this command line starts this engine (wrappers such as `bash -lc` looked through)."""

    def setting(self, flag: str, version: str | None) -> str:
        """The setting's own name for a flag as a person may spell it: renames, aliases, unique prefixes, `_` for `-`."""

    def from_argv(self, argv: Sequence[str], files: Mapping[str, str], version: str | None) -> Settings:
        """The settings of a command line; `files` are the texts of files that it names (`--config FILE`)."""

    def default(self, setting: str) -> Reading[Json]:
        """What an engine does when nobody says: Absent for a bare switch that is off, Silent when not known."""

    def args_log(self, journal: Journal) -> Reading[Settings]:
        """The settings that the engine printed in this invocation."""

    def info_paths(self) -> Sequence[str]:
        """Passive routes to try, in order, for `from_info`."""

    def info_beside(self) -> Sequence[str]:
        """Passive routes whose answers stand beside in that document, each under its path, where they answer."""

    def from_info(self, document: Json) -> Reading[Settings]:
        """The settings that the engine answers over HTTP."""

    def version(self, document: Json) -> str | None:
        """The engine's version, from its info document."""

    def draft_runner(self, journal: Journal) -> Reading[Settings]:
        """What the draft runner was built with, from its own line."""

    def effective(self, journal: Journal) -> Reading[Settings]:
        """What the engine settled on after it looked at the machine: pool size, batch, context length."""

    def decode_lines(self, journal: Journal) -> Sequence[Decode]:
        """The engine's decode lines, oldest first."""

    def carriers(self, setting: str, context: Mapping[str, Json] | None = None) -> Sequence[str]:
        """The witnesses (CONTRACT section 5) that carry this setting, in order of propagation.

        `context` is what is set besides, by setting: some kinds of speculation build a draft runner in silence.
        """

    def removed(self, flag: str, version: str | None) -> str | None:
        """Why this version refuses to start with a flag that another version takes; None when it does not."""

    def same(self, setting: str, left: Json, right: Json) -> bool:
        """Whether two spellings are one value: "8" and 8, "0.90" and 0.9, JSON compared as JSON."""

    def is_rewrite(self, setting: str, asked: Json, found: Json, context: Mapping[str, Json]) -> bool:
        """Whether the engine legally turns `asked` into `found`, so that nobody is alarmed."""

    def warnings(self, journal: Journal) -> Sequence[Warning_]:
        """Lines that say "ignored", "has no effect", "overridden", "removed"."""

    def load_paths(self) -> Sequence[str]:
        """Passive routes to try, in order, for `load`."""

    def load(self, path: str, text: str) -> Reading[Load]:
        """The requests that the engine has, from what one of these routes answered."""

    def ready_line(self, journal: Journal) -> str | None:
        """The engine's own line that start-up is over, or None. Necessary, never sufficient."""

    def progress(self, journal: Journal) -> str:
        """What the start-up is busy with, in a few words, from the newest telling line; "" when nothing tells."""

    window_setting: str
    """The setting that bounds what the draft runner sees; "" where only the drafter's own config does."""

    budget_flag: str
    """The setting that holds the budget: the number of draft nodes, the root excluded, plus the offset."""
    budget_flag_offset: int
    drafts_by_block: bool
    """Whether one block of the drafter is a draft, so that no path is longer than its config's `block_size` less one."""

    @property
    def file_flags(self) -> Sequence[str]:
        """Flags, with their dashes, whose value is a file that holds further settings."""

    @property
    def folder_flags(self) -> Sequence[str]:
        """Flags, with their dashes, whose value is the drafter's folder; "--flag.key" also means a key in JSON."""

    def native_window(self, drafter_config: Json, version: str | None) -> Reading[int]:
        """The window by the drafter's own config.json: Absent when it has none or this version ignores it."""

    def routes(self) -> Sequence[Route]:
        """Routes that need a key where one is set. Never one whose GET acts, or for which the engine generates."""

    def scoring(self) -> Scoring:
        """How it is asked for tokens, and for what it thinks of given ones."""

    def default_port(self) -> int:
        """The port that the engine listens on when nobody says."""
