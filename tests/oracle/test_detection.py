"""The benchmark of detection in its quick form: faults are caught at several budgets, and nobody innocent is accused."""

from __future__ import annotations

import sys

import pytest

from benchmarks import detection

pytestmark = pytest.mark.slow


def test_faults_are_caught_and_nobody_innocent_is_accused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["detection", "--quick"])
    assert detection.main() == 0, capsys.readouterr().out
