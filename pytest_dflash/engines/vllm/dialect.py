"""vLLM, as the rest of the tool speaks with it.

Law: one method of `engines.dialect.Dialect` each, answered by the module that knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.engines.dialect import Decode, Load, Route, Settings, Warning_
from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.metrics import METRICS
from pytest_dflash.engines.vllm import (
    command,
    counters,
    flags,
    info,
    journalled,
    log_lines,
    native,
    notices,
    routes,
    sameness,
    startup,
)
from pytest_dflash.engines.vllm.scoring import VLLMScoring
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

CHAIN = ("unit_file", "loaded_unit", "process_argv", "server_args_log")


class VLLM:
    """Releases 0.8.5 to 0.32, which speculate in the V1 engine."""

    name = "vllm"
    window_setting = ""
    budget_flag = "speculative-config.num_speculative_tokens"
    budget_flag_offset = 0
    drafts_by_block = False  # asked for more than its block, the drafter is run on more masks
    file_flags = ("--config",)
    folder_flags = ("--speculative-config.model", "-sc.model", "--spec-model")

    def runs(self, argv: Sequence[str]) -> bool:
        """Whether this command line starts the server, wrappers looked through."""
        return command.entry(argv) is not None

    def setting(self, flag: str, version: str | None) -> str:  # noqa: ARG002 - the seam's
        """The field's name behind a spelling; what no version knows keeps its own."""
        return flags.named(flag)

    def from_argv(self, argv: Sequence[str], files: Mapping[str, str], version: str | None) -> Settings:
        """The settings of a command line, those of its --config file included."""
        return command.settings(argv, files, version)

    def default(self, setting: str) -> Reading[Json]:
        """The field's default; Silent where the engine decides at start or nobody knows."""
        value, where = flags.default(setting), "vLLM's default"
        if value is False:
            return Absent(where)
        if value in (..., None, "auto"):
            return Silent("vLLM decides it at start")
        return Value(plain(value), where)

    def removed(self, flag: str, version: str | None) -> str | None:
        """Why this version's parser refuses the flag."""
        return flags.removed(flag, version)

    def args_log(self, journal: Journal) -> Reading[Settings]:
        """`non-default args: …` of the newest start in this invocation, with the engine core's own account."""
        return journalled.args_log(journal)

    def info_paths(self) -> Sequence[str]:
        """/v1/models: vLLM has no other passive route that tells settings."""
        return info.PATHS

    def info_beside(self) -> Sequence[str]:
        """/version."""
        return info.BESIDE

    def from_info(self, document: Json) -> Reading[Settings]:
        """Names, model and context length."""
        return info.settings(document)

    def version(self, document: Json) -> str | None:
        """What /version said."""
        return info.version(document)

    def draft_runner(self, journal: Journal) -> Reading[Settings]:
        """`speculative_config=SpeculativeConfig(…)` of the engine core, which holds the drafter."""
        return journalled.draft_runner(journal)

    def effective(self, journal: Journal) -> Reading[Settings]:
        """What the engine core was built with."""
        return journalled.effective(journal)

    def decode_lines(self, journal: Journal) -> Sequence[Decode]:
        """The statistics of each interval, oldest first."""
        return log_lines.decode_lines(journal)

    def carriers(self, setting: str, context: Mapping[str, Json] | None = None) -> Sequence[str]:  # noqa: ARG002 - the seam's
        """Every flag is carried up to the log; three go on to /v1/models, three to the engine core's speculation."""
        beyond = ("server_info",) if setting in info.TOLD else ()
        if setting in journalled.SPECULATION.values():
            beyond = ("draft_runner_log",)
        return (*CHAIN, *beyond)

    def same(self, setting: str, left: Json, right: Json) -> bool:
        """Whether two witnesses say the same."""
        return sameness.same(setting, left, right)

    def is_rewrite(self, setting: str, asked: Json, found: Json, context: Mapping[str, Json]) -> bool:
        """Whether vLLM legally turns one value into the other."""
        return sameness.is_rewrite(setting, asked, found, context)

    def warnings(self, journal: Journal) -> Sequence[Warning_]:
        """Lines that say what became of a setting."""
        return list(notices.notices(journal))

    def ready_line(self, journal: Journal) -> str | None:
        """`Application startup complete.`, of the newest start."""
        return startup.ready_line(journal)

    def progress(self, journal: Journal) -> str:
        """What the start is busy with."""
        return startup.progress(journal)

    def native_window(self, drafter_config: Json, version: str | None) -> Reading[int]:
        """The sliding window of the drafter's own config.json, where this version honours it."""
        return native.window(drafter_config, flags.parsed(version))

    def load_paths(self) -> Sequence[str]:
        """/metrics."""
        return (METRICS,)

    def load(self, path: str, text: str) -> Reading[Load]:  # noqa: ARG002 - the seam's
        """Running and waiting requests of all engines."""
        return counters.load(text)

    def routes(self) -> Sequence[Route]:
        """What its key guards, or should."""
        return routes.ROUTES

    def scoring(self) -> VLLMScoring:
        """`/v1/completions`, by token ids."""
        return VLLMScoring()

    def default_port(self) -> int:
        """8000."""
        return 8000
