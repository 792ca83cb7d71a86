"""What was not tested and why, and what no run of these suites can test.

Law: findings as in findings.json in, groups of checks by reason out; and one list that is the same for all hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_dflash.report import table
from pytest_dflash.report.cards import title
from pytest_dflash.report.document import Findings

UNTESTED = ("not_run", "blocked", "not_applicable")
BY_HAND = (
    "Power, cooling and cabling: pull one feed, watch nothing happen.",
    "The way of a client's request: name service, load balancer, firewall and certificate from the client's side.",
    "Fan-out and fabric between hosts, where one model spans several.",
    "Days: leaks, log growth and drift show after hours of traffic, a run sees minutes.",
    "Quality of the answers for your use: suites compare a model with itself, not with what you need.",
    "Firmware, BIOS and BMC settings that neither the driver nor /proc shows.",
    "Monitoring and alarms: that somebody is told when this host fails tonight.",
    "Backups and the way back: that the previous version can be put in service again.",
)
"""What remains for a person; the list says it so that acceptance is not mistaken for more than it is."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Checks that were not tested for one reason.

    Attributes:
        checks: Each with what it says beside the reason, which may be nothing.
    """

    outcome: str
    why: str
    checks: tuple[tuple[str, str], ...]


def reasons(findings: Findings) -> list[Reason]:
    """Every reason for which something was not tested, with its checks."""
    grouped: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for outcome in UNTESTED:
        for each in findings:
            if each["outcome"] == outcome:
                # A blocked check names its carrier in brackets: one carrier, one reason. What was measured and is held
                # against nothing has its number before the reason.
                said, stop, why = table.visible(each["summary"]).rpartition("; ")
                said, why = (
                    (said, why) if outcome == "not_applicable" and stop else ("", f"{said}{stop}{why}")
                )
                grouped.setdefault((outcome, why), []).append((title(each), said))
    return [Reason(outcome, why, tuple(dict.fromkeys(checks))) for (outcome, why), checks in grouped.items()]
