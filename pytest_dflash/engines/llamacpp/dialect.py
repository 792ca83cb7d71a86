"""llama.cpp, as the rest of the tool speaks with it.

Law: one method of `engines.dialect.Dialect` each, answered by the module that knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.engines.dialect import Decode, Load, Route, Settings, Warning_
from pytest_dflash.engines.llamacpp import command, counters, info, log_lines, routes
from pytest_dflash.engines.llamacpp.scoring import LlamaCppScoring
from pytest_dflash.engines.metrics import METRICS
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Reading, Silent
from pytest_dflash.findings import Json

CHAIN = ("unit_file", "loaded_unit", "process_argv")
DRAFTER = frozenset({"spec-type", *log_lines.NAMES.values()})
AUTOMATIC = -1
"""Of --parallel, also where it is not given: as many slots as it thinks fit."""
PRINTED = 0.0051
"""Half of the last digit with which the log prints a probability, and a little."""


class LlamaCpp:
    """`llama-server`, builds of 2026."""

    name = "llamacpp"
    window_setting = ""
    budget_flag = "spec-draft-n-max"
    budget_flag_offset = 0
    drafts_by_block = True
    file_flags = ()
    folder_flags = ()

    def runs(self, argv: Sequence[str]) -> bool:
        """Whether this command line starts the server, wrappers looked through."""
        return command.entry(argv) is not None

    def setting(self, flag: str, version: str | None) -> str:  # noqa: ARG002 - the seam's
        """The newest spelling."""
        return command.named(flag)

    def from_argv(self, argv: Sequence[str], files: Mapping[str, str], version: str | None) -> Settings:  # noqa: ARG002 - the seam's
        """The settings of a command line. LLAMA_ARG_… variables, which set flags too, are not in it."""
        return command.settings(argv)

    def default(self, setting: str) -> Reading[Json]:  # noqa: ARG002 - the seam's
        """Not known: the server fits some of its defaults to the machine."""
        return Silent("llama.cpp's defaults are not known here")

    def removed(self, flag: str, version: str | None) -> str | None:  # noqa: ARG002 - the seam's
        """Not known: a build's number tells no release."""
        return None

    def args_log(self, journal: Journal) -> Reading[Settings]:  # noqa: ARG002 - the seam's
        """Never."""
        return Silent(log_lines.UNHEARD)

    def info_paths(self) -> Sequence[str]:
        """/props."""
        return (info.PROPS,)

    def info_beside(self) -> Sequence[str]:
        """Nothing."""
        return ()

    def from_info(self, document: Json) -> Reading[Settings]:
        """Names and slots."""
        return info.settings(document)

    def version(self, document: Json) -> str | None:
        """`build_info`."""
        return info.version(document)

    def draft_runner(self, journal: Journal) -> Reading[Settings]:
        """Lines of the drafter that was built."""
        return log_lines.draft_runner(journal)

    def effective(self, journal: Journal) -> Reading[Settings]:
        """Slots."""
        return log_lines.effective(journal)

    def decode_lines(self, journal: Journal) -> Sequence[Decode]:
        """The timing of each answer, oldest first."""
        return log_lines.decode_lines(journal)

    def carriers(self, setting: str, context: Mapping[str, Json] | None = None) -> Sequence[str]:  # noqa: ARG002 - the seam's
        """The command line, and beyond it names at /props and limits of the drafter in the log."""
        beyond = ("server_info",) if setting in info.TOLD.values() else ()
        return (*CHAIN, *beyond, *(("draft_runner_log",) if setting in DRAFTER else ()))

    def same(self, setting: str, left: Json, right: Json) -> bool:
        """Numbers as numbers, kinds of speculation in any order, all else as text."""
        return _kinds(left) == _kinds(right) if setting == "spec-type" else _plain(left) == _plain(right)

    def is_rewrite(self, setting: str, asked: Json, found: Json, context: Mapping[str, Json]) -> bool:  # noqa: ARG002 - the seam's
        """A probability with two digits in the log, slots that it counted itself, one of several names."""
        left, right = _plain(asked), _plain(found)
        if setting == "parallel":
            return (asked is None or left == AUTOMATIC) and isinstance(right, float) and right >= 1
        if setting == "alias":
            return str(found) in str(asked).split(",")
        if setting != "spec-draft-p-min" or not isinstance(left, float) or not isinstance(right, float):
            return False
        return abs(left - right) <= PRINTED

    def warnings(self, journal: Journal) -> Sequence[Warning_]:  # noqa: ARG002 - the seam's
        """None: a flag that it does not take ends it."""
        return ()

    def ready_line(self, journal: Journal) -> str | None:
        """`listening on http://…`."""
        return log_lines.ready_line(journal)

    def progress(self, journal: Journal) -> str:
        """What the start is busy with."""
        return log_lines.progress(journal)

    def native_window(self, drafter_config: Json, version: str | None) -> Reading[int]:  # noqa: ARG002 - the seam's
        """Not known: a GGUF file has no config.json."""
        return Silent("the drafter is a GGUF file, which has no config.json")

    def load_paths(self) -> Sequence[str]:
        """/metrics, and /slots where there are no counters."""
        return (METRICS, counters.SLOTS)

    def load(self, path: str, text: str) -> Reading[Load]:
        """Running and waiting requests."""
        return counters.load(path, text)

    def routes(self) -> Sequence[Route]:
        """What its key guards, or should."""
        return routes.ROUTES

    def scoring(self) -> LlamaCppScoring:
        """`/completion`, by token ids."""
        return LlamaCppScoring()

    def default_port(self) -> int:
        """8080."""
        return 8080


def _kinds(value: Json) -> frozenset[str]:
    return frozenset(str(value).split(","))


def _plain(value: Json) -> object:
    try:
        return value if isinstance(value, bool) else float(str(value))
    except ValueError:
        return str(value)
