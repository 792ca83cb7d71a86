"""The tables of a profile.

Law: pydantic models, strict, frozen, no key unknown; what is impossible is refused here. A table that was
left out is an empty one: its checks have nothing to compare with. Nothing here reads a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from pytest_dflash.profile.terms import (
    Address,
    Capability,
    CheckPattern,
    Count,
    Day,
    FlagName,
    FlagValue,
    PackageName,
    PlainName,
    Positive,
    Regex,
    Release,
    Said,
    Specifier,
    TextClass,
    UnitName,
    Url,
    UserName,
    VariableName,
    VariableValue,
    Via,
    Witness,
    as_tuple,
)


class Table(BaseModel):
    """Base of all tables."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", serialize_by_alias=True)


class Service(Table):
    """Which unit is judged. `engine` names the dialect.

    Attributes:
        user_manager: The user whose own manager has the unit (`systemctl --user`). None: the system's.
    """

    unit: UnitName
    engine: PlainName
    user_manager: UserName | None = None
    served_model: Said | None = None
    ready_timeout_s: Positive = 900


class Endpoint(Table):
    """How the service is asked. Without `url`: the port that the serving process listens on.

    Attributes:
        api_key_env: The name of a variable on this side, never the key.
        ca_file: Relative to the file that says so; absolute once loaded.
        expect: What the greedy answer to `prompt` must match. None: only the structure is checked.
    """

    url: Url | None = None
    api_key_env: VariableName | None = None
    ca_file: Said | None = None
    prompt: Said = "Reply with the word ready."
    expect: Regex | None = None


class Stack(Table):
    """Versions, as PEP 440 specifiers; `packages` are those of the service's own interpreter."""

    driver: Specifier | None = None
    cuda_toolkit: Specifier | None = None
    compute_capability: Capability | None = None
    packages: dict[PackageName, Specifier] = Field(default_factory=dict)


class Gpu(Table):
    """What every GPU of the host is like."""

    count: Count | None = None
    name: Said | None = None
    pcie_generation: Annotated[int, Field(ge=1, le=8)] | None = None
    pcie_width: Literal[1, 2, 4, 8, 16, 32] | None = None
    power_limit_w: Positive | None = None


class Window(Table):
    """The draft window. `via`: set by a flag, by the drafter's own config, or either."""

    tokens: Count | None = None
    via: Via = "either"


class Range(Table):
    """Both ends included; an end that was left out is open."""

    min: Positive | None = None
    max: Positive | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("must have min or max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"must have min ({self.min:g}) not above max ({self.max:g})")
        return self


class Tree(Table):
    """The draft tree. A budget counts draft nodes, the root excluded; flag value = budget + offset."""

    budget_flag: FlagName | None = None
    budget_flag_offset: Annotated[int, Field(ge=0)] | None = None
    budgets: Annotated[tuple[Count, ...], as_tuple] = ()
    topk_flag: FlagName | None = None
    topks: Annotated[tuple[Count, ...], as_tuple] = ()
    accept_length: Range | None = None

    @model_validator(mode="after")
    def _topks_have_a_flag(self) -> Self:
        if self.topks and self.topk_flag is None:
            raise ValueError("has topks but no topk_flag: say which flag they are values of")
        return self


class Throughput(Table):
    """One load and its floors. `text_class` is the key `class`. All rates are output tokens per second.

    Attributes:
        max_ttft_ms: Of the mean time to the first token, as max_tpot_ms of the time per token after it.
        accept_length: Generated tokens per verify step, bonus token included, for this class of text.
        plain_output_tokens_per_s_total: What this load came to without speculation, as somebody measured it.
        starts: In how many processes it is measured; each beyond the first restarts the unit, where that is allowed.
    """

    name: Said
    text_class: TextClass = Field(alias="class")
    concurrency: Annotated[int, Field(ge=1, le=4096)]
    prompt_tokens: Annotated[int, Field(ge=1, le=10_000_000)]
    output_tokens: Annotated[int, Field(ge=1, le=1_000_000)]
    min_output_tokens_per_s_total: Positive | None = None
    min_decode_tokens_per_s_per_request: Positive | None = None
    max_ttft_ms: Positive | None = None
    max_tpot_ms: Positive | None = None
    accept_length: Range | None = None
    plain_output_tokens_per_s_total: Positive | None = None
    time_budget_s: Positive = 120
    starts: Count = 1


class Context(Table):
    """Long prompts. Without the table none are sent.

    Attributes:
        lengths: Prompt lengths in tokens, the first one is what the others are compared with.
        min_accept_length_share: Of the accept length at the first length.
        max_step_time_share: Of the time of a verify step at the first length; None: any.
        prefix_cache: Whether the same long prompt is answered from the prefix cache. None: either.
    """

    lengths: Annotated[tuple[Count, ...], as_tuple] = ()
    min_accept_length_share: Annotated[float, Field(gt=0, le=1)] = 0.8
    max_step_time_share: Annotated[float, Field(ge=1)] | None = None
    prefix_cache: bool | None = None

    @field_validator("lengths")
    @classmethod
    def _something_to_compare_with(cls, lengths: tuple[int, ...]) -> tuple[int, ...]:
        if lengths and (len(lengths) < 2 or list(lengths) != sorted(set(lengths))):
            raise ValueError("must be two lengths or more, each longer than the one before")
        return lengths


class Lifecycle(Table):
    """How long a start may take, and how long a change may last before the host undoes it by itself.

    Attributes:
        stays_up_s: For how long a fresh process is watched after it is ready.
    """

    ready_within_s: Positive | None = None
    lease_s: Positive | None = None
    stays_up_s: Positive = 120

    @model_validator(mode="after")
    def _lease_outlasts_two_starts(self) -> Self:
        if self.lease_s and self.ready_within_s and self.lease_s < 2 * self.ready_within_s:
            raise ValueError(
                f"has lease_s {self.lease_s:g}, which must outlast the engine's start twice: "
                f"at least {2 * self.ready_within_s:g}"
            )
        return self


class Exposure(Table):
    """Who may reach the port."""

    bind: Address | None = None
    key_required: bool | None = None


class Traffic(Table):
    """Commands on this side; `{host}` becomes the host's name.

    Attributes:
        abort_when_foreign: End a load within two seconds of requests that are not ours, errors of the engine,
            a growing queue or a new Xid. False: the load runs on, and what it proves is told.
    """

    drain: Annotated[tuple[Said, ...], as_tuple] = ()
    undrain: Annotated[tuple[Said, ...], as_tuple] = ()
    timeout_s: Positive = 60
    abort_when_foreign: bool = False

    @model_validator(mode="after")
    def _comes_back(self) -> Self:
        if self.drain and not self.undrain:
            raise ValueError("has drain but no undrain: the host would never be put back")
        return self


class Witnesses(Table):
    """Witnesses that may be silent without turning a check unproven."""

    optional: Annotated[tuple[Witness, ...], as_tuple] = ()


class Gate(Table):
    """Checks that must pass or be waived for an acceptance.

    Attributes:
        checks_as_of: The version whose checks count; what a later one brought is told, and decides nothing.
    """

    require: Annotated[tuple[CheckPattern, ...], as_tuple] = ()
    checks_as_of: Release | None = None


class Waiver(Table):
    """A known failure that somebody answers for; `expires` is inclusive, UTC."""

    check: CheckPattern
    host: Said | None = None
    param: Said | None = None
    reason: Said
    expires: Day


class Profile(Table):
    """The expectations of one service on one host."""

    reviewed: bool = True
    service: Service
    endpoint: Endpoint = Endpoint()
    stack: Stack = Stack()
    gpu: Gpu = Gpu()
    flags: dict[FlagName, FlagValue] = Field(default_factory=dict)
    environment: dict[VariableName, VariableValue] = Field(default_factory=dict)
    window: Window = Window()
    tree: Tree = Tree()
    throughput: Annotated[tuple[Throughput, ...], as_tuple] = ()
    context: Context = Context()
    lifecycle: Lifecycle = Lifecycle()
    exposure: Exposure = Exposure()
    traffic: Traffic = Traffic()
    witnesses: Witnesses = Witnesses()
    gate: Gate = Gate()
    waivers: Annotated[tuple[Waiver, ...], as_tuple] = ()

    @field_validator("flags")
    @classmethod
    def _one_spelling(cls, flags: dict[str, object]) -> dict[str, object]:
        spellings = Counter(flag.replace("_", "-") for flag in flags)
        twice = [flag for flag, times in spellings.items() if times > 1]
        if twice:
            raise ValueError(f"must name each flag once; {twice[0]!r} stands there in two spellings")
        return flags

    @field_validator("throughput")
    @classmethod
    def _names_differ(cls, loads: tuple[Throughput, ...]) -> tuple[Throughput, ...]:
        twice = [name for name, times in Counter(load.name for load in loads).items() if times > 1]
        if twice:
            raise ValueError(f"must have names that differ; {twice[0]!r} stands there twice")
        return loads


def keys_at(path: Sequence[str | int]) -> list[str]:
    """The keys that the table at this path may have, as a profile spells them; [] where names are free."""
    table: type[BaseModel] | None = Profile
    for step in path:
        if table is None or isinstance(step, int):
            continue
        field = next((f for name, f in table.model_fields.items() if (f.alias or name) == step), None)
        table = _table_in(field.annotation) if field else None
    return [field.alias or name for name, field in table.model_fields.items()] if table else []


def _table_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_table_in, get_args(annotation))), None)
