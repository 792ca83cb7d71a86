"""Shared by all tests: nothing leaves this machine."""

from __future__ import annotations
