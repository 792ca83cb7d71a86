"""Shared by all tests: nothing leaves this machine, and no example fails for being slow on a busy one."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("busy", deadline=None)
settings.load_profile("busy")
