"""Faults of speed: what makes a load slow, its answers broken, or its numbers worthless.

Law: a table. Paces are times of a card that is not there (`engine.pace`); the healthy one is `layout.PACE`.
"""

from __future__ import annotations

from pytest_dflash.rehearsal import layout
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.faults.busy_tester import short_of_time
from pytest_dflash.rehearsal.faults.fault import Fault
from pytest_dflash.rehearsal.faults.stages import Stage

ONE, SIXTEEN, MANY = "one user", "sixteen users", "many users"
"""The loads of the rehearsal's own profile."""
LOADS = (ONE, SIXTEEN, MANY)
FEW = 8
"""Completions after which something happens: in the middle of the first load."""
TIGHT = (
    'throughput=[{name="one user", class="prose", concurrency=1, prompt_tokens=200, output_tokens=96, '
    "min_decode_tokens_per_s_per_request=191, max_tpot_ms=5.236, time_budget_s=60}]"
)
"""A floor 5 % below what the healthy pace gives (200 tokens/s), as somebody would sign it, and the same as a ceiling."""
LOOSE = (
    'throughput=[{name="one user", class="prose", concurrency=1, prompt_tokens=200, output_tokens=48, '
    "accept_length={min=2.0}, plain_output_tokens_per_s_total=100, time_budget_s=60}]"
)
"""The class's own acceptance, and the 100 tokens/s that somebody measured without speculation."""
TWICE = (
    'throughput=[{name="one user", class="prose", concurrency=1, prompt_tokens=200, output_tokens=48, '
    "min_decode_tokens_per_s_per_request=100, time_budget_s=60, starts=2}]"
)
"""A load that is measured in two processes."""
ALONE = 'throughput=[{name="one user", class="prose", concurrency=1, prompt_tokens=200, output_tokens=48}]'
GPU_OF_3 = "GPU-6f1c0a23-41d7-7b0e-9c55-0d2f8a94b7e3"


def paced(**changed: float) -> Stage:
    """Another pace than the healthy one."""
    return stages.switch(pace=layout.PACE | changed)


def each(check: str) -> tuple[str, ...]:
    """The check for every load."""
    return tuple(f"throughput.{check}[{load}]" for load in LOADS)


LONG = ("throughput.context", "throughput.prefix_cache")
"""Checks that send long prompts of their own."""

THROUGHPUT = (
    Fault(
        "slow-by-a-tenth",
        "load",
        (f"throughput.decode_rate[{ONE}]", f"throughput.tpot[{ONE}]"),
        "every step takes a tenth longer",
        layer="throughput",
        severity="silent-slow",
        says="floor of 191",
        before=paced(step_ms=1.1 * layout.PACE["step_ms"]),
        expects=(TIGHT,),
    ),
    Fault(
        "client-overloaded",
        "load",
        ("throughput.instrument", f"throughput.decode_rate[{ONE}]", f"throughput.tpot[{ONE}]"),
        "the tester's own machine is short of time, so that a rate below its floor proves nothing",
        layer="tool",
        severity="noisy",
        says="proves nothing: this machine was too busy to measure",
        before=paced(step_ms=1.1 * layout.PACE["step_ms"]),
        after=short_of_time(4),
        expects=(TIGHT,),
    ),
    Fault(
        "slow-when-many",
        "load",
        (f"throughput.decode_rate[{SIXTEEN}]",),
        "from 16 requests on a step takes many times longer, a single user notices nothing",
        layer="throughput",
        severity="silent-slow",
        says="floor of 5",
        before=paced(slow_factor=18, slow_from_concurrency=16),
    ),
    Fault(
        "late-first-token",
        "load",
        (f"throughput.ttft[{ONE}]",),
        "the first token takes twice as long as it may, the others come as ever",
        layer="throughput",
        severity="silent-slow",
        says="ceiling of 600",
        before=paced(ttft_ms=1200),
    ),
    Fault(
        "proxy-buffers",
        "load",
        (
            *each("streaming"),
            f"throughput.decode_rate[{ONE}]",
            f"throughput.decode_rate[{SIXTEEN}]",
        ),
        "something before the engine holds chunks back and sends them in bursts",
        layer="endpoint",
        severity="silent-slow",
        says="chunks come in bursts",
        before=stages.switch(streams="buffered"),
    ),
    Fault(
        "usage-missing",
        "load",
        (*each("errors"), *LONG),
        "streams end without usage, so that nobody can count tokens",
        layer="endpoint",
        severity="noisy",
        says="usage",
        before=stages.switch(streams="usage-missing"),
    ),
    Fault(
        "usage-zero",
        "load",
        (*each("errors"), *LONG),
        "the usage of streams says zero tokens",
        layer="endpoint",
        severity="noisy",
        says="usage",
        before=stages.switch(streams="usage-zero"),
    ),
    Fault(
        "streams-cut-off",
        "load",
        (*each("errors"), *LONG),
        "streams break off before their end",
        layer="endpoint",
        severity="silent-wrong",
        says="broke",
        before=stages.switch(completions="cut"),
    ),
    Fault(
        "refuses-now-and-then",
        "load",
        (*each("errors"), *LONG),
        "every ninth request is refused, since the queue counts as full",
        layer="endpoint",
        severity="noisy",
        says="503",
        before=stages.switch(refuses_each=9),
    ),
    Fault(
        "ends-early",
        "load",
        each("errors"),
        "streams end at half of their length, and say that this is all that was asked for",
        layer="endpoint",
        severity="silent-wrong",
        says="finish_reason length",
        before=stages.switch(streams="short"),
    ),
    Fault(
        "prefix-cache-answers",
        "load",
        (f"throughput.ttft[{ONE}]", f"throughput.total_rate[{SIXTEEN}]"),
        "the prefix cache claims to know prompts that nobody has sent before",
        layer="throughput",
        severity="silent-wrong",
        says="came from the prefix cache",
        before=stages.switch(prefix_cache="answers"),
    ),
    Fault(
        "prefix-cache-dead",
        "load",
        ("throughput.prefix_cache",),
        "the prefix cache keeps nothing, so that every prompt is read again",
        layer="throughput",
        severity="silent-slow",
        says="does not do its work",
        before=stages.switch(prefix_cache="dead"),
    ),
    Fault(
        "drafter-goes-blind",
        "load",
        ("throughput.context",),
        "beyond its window the drafter sees nothing: acceptance falls with the length of the prompt",
        layer="speculation",
        severity="silent-slow",
        says="the accept length falls",
        before=stages.switch(corruptions=["blind-past-window"]),
    ),
    Fault(
        "no-graphs-when-many",
        "load",
        ("throughput.cuda_graphs",),
        "batches of more than 32 requests run without CUDA graph",
        layer="throughput",
        severity="silent-slow",
        says="without CUDA graph",
        before=stages.switch(graphs_up_to=32),
    ),
    Fault(
        "dies-under-load",
        "load",
        (*each("errors"), *LONG),
        "the server dies in the middle of a load, again and again",
        layer="process",
        severity="down",
        says="broke",
        before=stages.switch(dies_after=FEW),
    ),
    Fault(
        "foreign-load",
        "load",
        (f"throughput.decode_rate[{ONE}]", f"throughput.acceptance[{ONE}]"),
        "somebody else sends requests while a load is measured",
        layer="tool",
        severity="noisy",
        says="not ours",
        before=stages.both(
            stages.switch(foreign_requests=6, foreign_after=FEW), paced(step_ms_per_request=6)
        ),
    ),
    Fault(
        "drafts-rejected",
        "load",
        (f"throughput.acceptance[{ONE}]",),
        "hardly any draft is accepted on text of a class that promises more",
        layer="speculation",
        severity="silent-slow",
        says="is below its floor of 2",
        before=stages.both(stages.switch(corruptions=["acceptance-collapsed"]), paced(step_ms=5.0)),
        expects=(LOOSE,),
    ),
    Fault(
        "speculation-costs",
        "load",
        (f"throughput.speculation_pays[{ONE}]",),
        "a verify step takes so long that decoding without drafts would be faster",
        layer="speculation",
        severity="silent-slow",
        says="speculation costs more than it saves",
        before=paced(step_ms=75.0),
        expects=(LOOSE,),
    ),
    Fault(
        "slow-at-some-starts",
        "restart",
        (f"throughput.starts[{ONE}]",),
        "the process lands in a slow mode at some of its starts, and stays there",
        layer="throughput",
        severity="silent-slow",
        says="landed in a slow mode",
        before=paced(slow_every_start=3, slow_factor=3),
        expects=(TWICE,),
    ),
    Fault(
        "drafting-costs",
        "reconfigure",
        (f"throughput.beats_plain[{ONE}]",),
        "drafts cost more time than the few that are accepted save, and nobody has ever measured without them",
        layer="speculation",
        severity="silent-slow",
        says="speculation costs more than it saves",
        before=stages.both(stages.switch(corruptions=["acceptance-collapsed"]), paced(draft_ms=30)),
        expects=(ALONE,),
    ),
    Fault(
        "link-does-not-wake",
        "load",
        (f"throughput.host_under_load[{GPU_OF_3}]",),
        "the PCIe link of one card stays at generation 1 while the card works",
        layer="hardware",
        severity="silent-slow",
        says="PCIe generation 1 of 5",
        before=stages.card_at_work(3, pcie__link__gen__current="1", pcie__link__gen__gpucurrent="1"),
    ),
)
