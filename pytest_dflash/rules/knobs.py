"""What has no place in production: knobs of benchmarks, lossy acceptance, shell in an environment.

Law: pure. The knobs are data: tables with what each does and where that was learnt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.facts.systemd import UnitFiles
from pytest_dflash.findings import Evidence, Json, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.profile.schema import Profile
from pytest_dflash.redaction import MASK
from pytest_dflash.rules.judge import HEAR, evidence, unheard
from pytest_dflash.witness.chain import ANSWERED, Chain

VARIABLES: Mapping[str, str] = {
    "SGLANG_SIMULATE_ACC_LEN": "acceptance is simulated: wonderful numbers, wrong tokens (sglang PR#32595)",
    "SGLANG_SIMULATE_ACC_METHOD": "acceptance is simulated (sglang PR#32595)",
    "SGLANG_SIMULATE_ACC_TOKEN_MODE": "acceptance is simulated (sglang PR#31603)",
    "LLAMA_ARG_SPEC_SYNTH_LEN": "acceptance is simulated (llama-server's help: benchmarking only)",
    "LLAMA_ARG_SPEC_SYNTH_RATES": "acceptance is simulated (llama-server's help: benchmarking only)",
    "CUDA_LAUNCH_BLOCKING": "every kernel is waited for: a knob to find bugs, and slow (CUDA programming guide)",
    "VLLM_TRACE_FUNCTION": "every call is logged: a knob to find bugs, and slow (vLLM's troubleshooting page)",
    "VLLM_SERVER_DEV_MODE": "routes of development are open: they put the model to sleep and call its workers (vLLM 0.32)",
}
"""Variables of benchmarks and of bug hunts, to what they do."""
SHOWN, LINE = 5, 200
"""So many lines of a file are quoted, and so many letters of each."""
SETTINGS: tuple[tuple[str, Json, str], ...] = (
    ("load-format", "dummy", "the weights are random numbers: right for a benchmark, never for answers"),
    ("speculative-config.rejection_sample_method", "synthetic", "acceptance is simulated (ROCm/ATOM#555)"),
    ("spec-synth-len", None, "acceptance is simulated (llama-server's help: benchmarking only)"),
    ("spec-synth-rates", None, "acceptance is simulated (llama-server's help: benchmarking only)"),
)
"""Settings of the same kind: name, value (None: whatever it is), what it does."""
EXACT: tuple[tuple[str, tuple[Json, ...]], ...] = (
    ("speculative-accept-threshold-single", (1.0, 1, None)),
    ("speculative-accept-threshold-acc", (1.0, 1, None)),
    ("speculative-config.acceptance_method", ("rejection_sampler", None)),
    ("speculative-config.rejection_sample_method", ("strict", "standard", None)),
)
"""Settings that accept what the target would not have said, to the values with which they do not.

Source: sglang PR#7702 and #8068, vllm PR#35355.
"""
SPECULATES = ("speculative-algorithm", "speculative-config", "spec-type")
"""Settings of which one is there, and not "none", where an engine speculates."""
OFF = {"", "0", "false", "no", "off"}
"""What a switch holds when it is off."""

_UNEXPANDED = re.compile(r"(?:^|[\s:=,/])(\$\{?[A-Z_][A-Z0-9_]*\}?)")


def no_knobs(chain: Chain, process: Reading[Process]) -> Judgement:
    """Nothing is left of a benchmark or of the hunt for a bug."""
    environ = process.value.environ if isinstance(process, Value) else process
    if not isinstance(environ, Value):
        return unheard("whether knobs of a benchmark are set", "environment of the process", environ)
    found = [
        (f"{name}={environ.value[name]}", why)
        for name, why in VARIABLES.items()
        if environ.value.get(name, "").lower() not in OFF
    ]
    for name, value, why in SETTINGS:
        said = [each for each in spoken(chain, name).values() if value is None or each == value]
        found += [(f"--{name} {each}", why) for each in said[:1]]
    seen = (evidence("environment of the process", environ, [name for name, _ in found]),)
    if found:
        return failed(
            f"a knob of a benchmark is set: {found[0][0]}: {found[0][1]}",
            expected=[],
            observed=[name for name, _ in found],
            evidence=seen,
            cause="a benchmark or the hunt for a bug left it in the unit",
            remedy="take it out of the unit and its environment files, and restart it",
        )
    return passed("no knob of a benchmark is set", expected=[], observed=[], evidence=seen)


def spoken(chain: Chain, name: str) -> dict[str, Json]:
    """What each witness that was heard says of a setting."""
    return {
        each.witness: each.reading.value for each in chain.readings(name) if isinstance(each.reading, Value)
    }


def acceptance_exact(chain: Chain, profile: Profile) -> Judgement:
    """Only what the target would have said is accepted, unless the profile expects otherwise."""
    if not any(isinstance(heard, Value) for heard in chain.heard.values()):
        return unproven("how tokens are accepted could not be told: no witness was heard", remedy=HEAR)
    told = [value for name in SPECULATES for value in spoken(chain, name).values()]
    if not any(value and value != "none" for value in told):
        return not_applicable("nobody speculates, so nothing is accepted")
    chosen = [
        (name, value)
        for name, exact in EXACT
        for value in list(spoken(chain, name).values())[-1:]
        if value not in exact and name not in profile.flags
    ]
    if chosen:
        name, value = chosen[0]
        return failed(
            f"acceptance is lossy: --{name} is {value}, so that tokens are taken which the target would not have said",
            expected="exact acceptance",
            observed=dict(chosen),
            cause="a threshold that was lowered for speed, perhaps by somebody else's recipe",
            remedy=f"take --{name} out and restart; or expect it in [flags] if the answers may differ",
        )
    if not any(isinstance(chain.heard[name], Value) for name in ANSWERED):
        return unproven("how tokens are accepted could not be told: the engine says nothing", remedy=HEAR)
    return passed("only what the target would have said is accepted", expected="exact acceptance")


def plain_environment(process: Reading[Process], files: Reading[UnitFiles]) -> Judgement:
    """No variable holds shell: systemd expands nothing in Environment= and EnvironmentFile=, and runs no export.

    Args:
        process: What holds the variables.
        files: The unit on disk, to say in which line one was written.
    """
    environ = process.value.environ if isinstance(process, Value) else process
    if not isinstance(environ, Value):
        return unheard("whether variables hold shell", "environment of the process", environ)
    odd = {
        name: why
        for name, value in environ.value.items()
        if value != MASK and (why := unexpanded(name, value))
    }
    seen = (evidence("environment of the process", environ, [*odd]),)
    if odd:
        name, why = next(iter(odd.items()))
        lines = {each: line for each in odd if (line := written(each, files))}
        shown = [
            Evidence(source="file on the host", reading="value", value=text, where=where, differs=True)
            for where, text in lines.values()
        ]
        place, text = lines.get(name, ("the unit's environment files", ""))
        more = f" (and {len(odd) - 1} more: {', '.join([*odd][1:6])})" if odd.keys() - {name} else ""
        return failed(
            f"{name} holds shell that nobody expanded: {why}{more}"
            + (f"; it is set in {place}" if text else ""),
            expected=[],
            observed=[*odd],
            evidence=(*seen, *shown[:SHOWN]),
            cause="the file was written for a shell, and systemd is none: it takes each line as it stands",
            remedy=f"write the whole value of {name} into {place}, without $NAME, export and outer quotation marks; "
            "then restart the unit",
        )
    return passed("no variable of the process holds shell", expected=[], observed=[], evidence=seen)


def written(name: str, files: Reading[UnitFiles]) -> tuple[str, str] | None:
    """The place, `path:line`, and the text of the last line on disk that sets a variable; None where none is seen."""
    if not isinstance(files, Value):
        return None
    bare = name.removeprefix("export ").strip()
    own = re.compile(rf"\s*(?:export\s+)?{re.escape(bare)}\s*=")
    within = re.compile(rf"\s*Environment\s*=.*(?<![\w]){re.escape(bare)}=")
    unit = [each for each in (files.value.fragment, *files.value.drop_ins) if each]
    found = [
        (f"{each.path}:{number}", line.strip()[:LINE])
        for each, setter in [(e, within) for e in unit] + [(e, own) for e in files.value.environment_files]
        for number, line in enumerate(each.text.split("\n"), 1)
        if setter.match(line)
    ]
    return found[-1] if found else None


def unexpanded(name: str, value: str) -> str:
    """What of a variable only a shell would have understood; "" where there is nothing."""
    if name.startswith("export "):
        return "its name begins with export"
    if found := _UNEXPANDED.search(value):
        return f"{found[1]} stands in it"
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return "quotation marks around it are part of the value"
    return ""
