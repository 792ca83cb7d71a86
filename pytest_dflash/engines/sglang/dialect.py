"""SGLang, as the rest of the tool speaks with it.

Law: one method of `engines.dialect.Dialect` each, answered by the module that knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.engines.dialect import Decode, Load, Route, Settings, Warning_
from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.sglang import (
    command,
    flags,
    info,
    journalled,
    load,
    native,
    notices,
    rewrites,
    routes,
    sameness,
    startup,
)
from pytest_dflash.engines.sglang.log_lines import decode_line, spoken
from pytest_dflash.engines.sglang.scoring import SGLangScoring
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

CHAIN = ("unit_file", "loaded_unit", "process_argv", "server_args_log", "server_info")
RUNNER = "draft_runner_log"


class SGLang:
    """Builds 0.5.5 to 0.5.23 and their forks."""

    name = "sglang"
    window_setting = "speculative-draft-window-size"
    budget_flag = "speculative-num-draft-tokens"
    budget_flag_offset = 1
    drafts_by_block = True
    file_flags = ("--config",)
    folder_flags = ("--speculative-draft-model-path", "--speculative-draft-model")

    def runs(self, argv: Sequence[str]) -> bool:
        """Whether this command line starts the server, wrappers looked through."""
        return command.entry(argv) is not None

    def setting(self, flag: str, version: str | None) -> str:
        """The field's name behind a spelling; what no version knows keeps its own."""
        found = flags.spelled(flag, version)
        return found.setting if found else flags.named(flag)

    def from_argv(self, argv: Sequence[str], files: Mapping[str, str], version: str | None) -> Settings:
        """The settings of a command line, those of its --config file included."""
        return command.settings(argv, files, version)

    def default(self, setting: str) -> Reading[Json]:
        """The field's default; Silent where the engine decides at start or the default changed over time."""
        value, where = flags.default(setting), "SGLang's default"
        if value is False and flags.kind(setting) == "switch":
            return Absent(where)
        if value is ... or (value in (None, "auto") and flags.resolves(setting)):
            return Silent("SGLang decides it at start, or its default changed between versions")
        return Value(plain(value), where)

    def removed(self, flag: str, version: str | None) -> str | None:
        """Why this version's parser refuses the flag."""
        return flags.removed(flag, version)

    def args_log(self, journal: Journal) -> Reading[Settings]:
        """`server_args=…` of the newest start in this invocation."""
        return journalled.server_args(journal)

    def info_paths(self) -> Sequence[str]:
        """/server_info, and its old spelling."""
        return info.PATHS

    def info_beside(self) -> Sequence[str]:
        """None: /server_info tells all."""
        return ()

    def from_info(self, document: Json) -> Reading[Settings]:
        """The settings that the server answers, with what was changed at run time."""
        return info.settings(document)

    def version(self, document: Json) -> str | None:
        """`version` of /server_info."""
        return info.version(document)

    def draft_runner(self, journal: Journal) -> Reading[Settings]:
        """`Initialized … draft runner. …`, and a tree worker's line on top of it."""
        return journalled.draft_runner(journal)

    def effective(self, journal: Journal) -> Reading[Settings]:
        """`max_total_num_tokens=…, …` of the first scheduler."""
        return journalled.effective(journal)

    def decode_lines(self, journal: Journal) -> Sequence[Decode]:
        """The decode lines of this invocation, oldest first."""
        return [found for line in spoken(journal) if (found := decode_line(line))]

    def carriers(self, setting: str, context: Mapping[str, Json] | None = None) -> Sequence[str]:
        """Every flag is carried up to /server_info; the draft runner's line, where it exists, carries a few."""
        algorithm = str((context or {}).get("speculative-algorithm") or "").upper()
        return (*CHAIN, RUNNER) if setting in journalled.said_by_runner(algorithm) else CHAIN

    def same(self, setting: str, left: Json, right: Json) -> bool:
        """Whether two witnesses say the same."""
        return sameness.same(setting, left, right)

    def is_rewrite(self, setting: str, asked: Json, found: Json, context: Mapping[str, Json]) -> bool:
        """Whether SGLang legally turns one value into the other."""
        return rewrites.is_rewrite(setting, asked, found, context)

    def warnings(self, journal: Journal) -> Sequence[Warning_]:
        """Lines that say what became of a setting."""
        return list(notices.notices(journal))

    def load_paths(self) -> Sequence[str]:
        """/v1/loads, and its elders."""
        return tuple(load.ROUTES)

    def load(self, path: str, text: str) -> Reading[Load]:
        """Running and queued requests of all ranks."""
        return load.load(path, text)

    def ready_line(self, journal: Journal) -> str | None:
        """`The server is fired up and ready to roll!`, of the newest start."""
        return startup.ready_line(journal)

    def progress(self, journal: Journal) -> str:
        """What the start is busy with."""
        return startup.progress(journal)

    def native_window(self, drafter_config: Json, version: str | None) -> Reading[int]:
        """The sliding window of the drafter's own config.json, where this version honours it."""
        return native.window(drafter_config, flags.parsed(version))

    def routes(self) -> Sequence[Route]:
        """What its key guards, or should."""
        return routes.ROUTES

    def scoring(self) -> SGLangScoring:
        """`/generate`, by token ids."""
        return SGLangScoring()

    def default_port(self) -> int:
        """30000."""
        return 30000
