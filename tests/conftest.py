"""Shared by all tests: nothing leaves this machine, and no example fails for being slow on a busy one."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("busy", deadline=None)
settings.load_profile("busy")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whoever was started in a shell's background ignores Ctrl-C, and so would every process that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
