"""What can be wrong in drafting, verifying and committing, by name.

Law: a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Many

from . import wrong_acceptance, wrong_verification
from .healthy import NOISE_NATS, Healthy

CORRUPTIONS: Mapping[str, type[Healthy]] = {
    "mask-stride-from-block": wrong_verification.MaskStrideFromBlock,
    "mask-row-zero-only": wrong_verification.MaskRowZeroOnly,
    "siblings-visible": wrong_verification.SiblingsVisible,
    "positions-by-index": wrong_verification.PositionsByIndex,
    "kv-committed-in-wrong-order": wrong_verification.KvCommittedInWrongOrder,
    "state-lost-on-rejection": wrong_verification.StateLostOnRejection,
    "batch-neighbours-mask": wrong_verification.BatchNeighboursMask,
    "corrupt-in-batch": wrong_verification.CorruptInBatch,
    "corrupt-on-cache-hit": wrong_verification.CorruptOnCacheHit,
    "corrupt-past-window": wrong_verification.CorruptPastWindow,
    "corrupt-from-prompt-65": wrong_verification.CorruptFromPrompt65,
    "bonus-dropped": wrong_verification.BonusDropped,
    "token-zero-as-padding": wrong_verification.TokenZeroAsPadding,
    "lossy-acceptance": wrong_acceptance.LossyAcceptance,
    "sampling-ignored": wrong_acceptance.SamplingIgnored,
    "repeating-loop": wrong_acceptance.RepeatingLoop,
    "constant-acceptance": wrong_acceptance.ConstantAcceptance,
    "acceptance-collapsed": wrong_acceptance.AcceptanceCollapsed,
    "acceptance-at-first-only": wrong_acceptance.AcceptanceAtFirstOnly,
    "acceptance-decays-with-context": wrong_acceptance.AcceptanceDecaysWithContext,
    "blind-past-window": wrong_acceptance.BlindPastWindow,
    "near-tie-noise": wrong_acceptance.NearTieNoise,
    "end-among-refused-drafts": wrong_acceptance.EndAmongRefusedDrafts,
    "grammar-broken-at-concurrency": wrong_acceptance.GrammarBrokenAtConcurrency,
}
"""Every fault by its name."""


ALWAYS = ("near-tie-noise",)
"""What is there without speculation too: all else is wrong in drafting and verifying, and gone with them."""


def of(names: Many[str], noise_nats: float = NOISE_NATS, *, speculating: bool = True) -> Healthy:
    """An engine with all the named faults, as far as it has what they spoil.

    Raises:
        ValueError: For a name that is none.
    """
    if unknown := sorted(set(names) - set(CORRUPTIONS)):
        raise ValueError(f"unknown corruptions {', '.join(unknown)}; known are {', '.join(CORRUPTIONS)}")
    there = [name for name in dict.fromkeys(names) if speculating or name in ALWAYS]
    bases = tuple(CORRUPTIONS[name] for name in there)
    made: type[Healthy] = type("Wrong", (*bases, Healthy), {})
    return made(noise_nats)
