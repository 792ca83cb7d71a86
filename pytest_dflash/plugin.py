"""What pytest sees of us until a host is named: options, markers, and nothing else.

Law: no import of testinfra, openai, pydantic or our own machinery at the top; a project that has this plugin
installed and does not use it pays for one option group. The machinery is registered by `activation`.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

NO_HOST = (
    "these suites test a host, and none was named: add --host=ADDRESS, or try --host=rehearsal, "
    "which needs no GPU, no ssh and no root"
)


class Hooks:
    """What a project's conftest.py may add."""

    def pytest_dflash_faults(self) -> Any:
        """Faults of the project's own for the rehearsal: a list of `pytest_dflash.rehearsal.faults.Fault`."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declares the hooks."""
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options of CONTRACT section 1."""
    group = parser.getgroup("dflash", "acceptance of GPU inference hosts (pytest-dflash)")
    add = group.addoption
    add(
        "--host",
        action="append",
        dest="dflash_hosts",
        metavar="SPEC",
        help="The host to accept, repeatable or comma separated: 10.1.2.200, root@gpu1:2222, an alias of the\n"
        "ssh config, docker://name, local://, or rehearsal (a stand-in: no GPU, no ssh, no root)",
    )
    add(
        "--dflash-profile",
        action="append",
        metavar="PATH",
        help="What is expected of the host (TOML), one service each, repeatable. Default: the ini value,\n"
        "else dflash.toml in the rootdir; for rehearsal its own",
    )
    add(
        "--dflash-expect",
        action="append",
        metavar="KEY=VALUE",
        default=[],
        help="Override one expectation, for example window.tokens=4096; repeatable. Never changes a host",
    )
    add(
        "--dflash-allow",
        metavar="WORDS",
        help="How far the run may go, comma separated. read: commands that change nothing and passive routes. "
        "probe: also at most 5 requests of at most 64 new tokens. load (default): also sustained requests, held "
        "back while requests of others run, unless typed. restart: also restarts the unit, once (and for "
        "each further start of a load), when nobody else's requests run ([traffic] drain, or --dflash-drained). "
        "reconfigure: also writes a drop-in under /run, restarts into it and takes it away again; a lease on the host "
        "does so if the run dies. The last two count only when typed on the command line",
    )
    add(
        "--dflash-plan",
        action="store_true",
        help="Print every restart, request, file and the minutes that the run would need, touch nothing, exit 0",
    )
    add(
        "--dflash-write-profile",
        metavar="PATH",
        help="Write a commented profile from what the host shows, run no tests. Refuses to overwrite",
    )
    add(
        "--dflash-triage",
        action="store_true",
        help="What is wrong with the host, in ten seconds and fifteen lines: no profile, no test, nothing changed",
    )
    add(
        "--dflash-explain",
        metavar="CHECK",
        help="What a check does and why, which faults it catches and how to mend them; an area or 'list' prints names",
    )
    add(
        "--dflash-print-sudoers",
        action="store_true",
        help="Print the sudo rules that each level of --dflash-allow needs on a host",
    )
    add(
        "--dflash-report-dir",
        metavar="DIR",
        help="Where report.html, junit.xml and findings.json go. Default: the ini value, else\n"
        "reports/<UTC>_<host>/, with reports/latest pointing at it",
    )
    add(
        "--dflash-metrics",
        metavar="FILE",
        help="Also write OpenMetrics text there, for node_exporter's textfile collector (name it *.prom)",
    )
    add(
        "--dflash-compare",
        metavar="PATH",
        help="An earlier findings.json: each load is compared with it, measure by measure; worse beyond noise fails",
    )
    add(
        "--dflash-fault",
        action="append",
        metavar="NAME",
        default=[],
        help="Rehearsal only: the stand-in host has this fault; repeatable. 'list' prints them all. Also takes the\n"
        "odd but healthy hosts of docs/faults.md",
    )
    add(
        "--dflash-ready-timeout",
        type=float,
        metavar="SECONDS",
        help="How long readiness may take. Default: service.ready_timeout_s of the profile, else 900",
    )
    add(
        "--dflash-max-restarts",
        type=int,
        metavar="N",
        help="At most N restarts of each unit, those that put it back included. A step that does not fit any "
        "more is refused before it is begun. Default: as many as --dflash-plan prints",
    )
    add(
        "--dflash-deadline",
        type=float,
        metavar="SECONDS",
        help="When the host must be as it was, counted from the start of the run: no restart is begun whose "
        "way back would end later. Default: none",
    )
    add(
        "--dflash-drained",
        action="store_true",
        help="Nobody else uses the host, you vouch for it: restart although requests run or cannot be seen. "
        "Counts only when typed on the command line. Without it, [traffic] drain of the profile, or no traffic",
    )
    parser.addini("dflash_profile", "Paths of profiles, relative to this file", type="paths", default=[])
    parser.addini("dflash_report_dir", "Where reports go, relative to this file", type="string", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers; with a host, everything else."""
    config.addinivalue_line(
        "markers", "check(name, level): a check of pytest-dflash; it returns its judgement"
    )
    if config.option.dflash_hosts or config.option.dflash_fault:
        from pytest_dflash import activation  # noqa: PLC0415 - costs nothing where no host is named

        activation.activate(config)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answers the options that run no tests."""
    option = config.option
    told = option.dflash_explain or option.dflash_print_sudoers or "list" in option.dflash_fault
    if told or option.dflash_write_profile or option.dflash_triage:
        from pytest_dflash import errands  # noqa: PLC0415 - as above

        return errands.run(config)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuses checks without a host: a check that reads nothing must not look like one that passed."""
    if config.option.dflash_hosts or "pytest_dflash.checks" not in sys.modules:
        return
    if any(item.get_closest_marker("check") for item in items):
        told = getattr(config, "workeroutput", None)
        if told is None:
            raise pytest.UsageError(NO_HOST)
        told[NO_HOST] = True  # an xdist worker's usage error would reach nobody: the controller raises it
        items.clear()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Raises in the controller what an xdist worker had to refuse."""
    if getattr(node, "workeroutput", {}).get(NO_HOST):
        raise pytest.UsageError(NO_HOST)
