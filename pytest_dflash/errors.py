"""Whose fault it is, in the type.

Law: exceptions only. Every message names what was asked, what was found and the next step; the type says
who has to act: the person who wrote the profile, whoever runs the host, whoever runs the engine, or us.
"""

from __future__ import annotations


class DflashError(Exception):
    """Base of all errors that this package raises on purpose."""


class UsageError(DflashError, ValueError):
    """The command line asks for something that cannot be done. Nothing was run."""


class ProfileError(UsageError):
    """The profile cannot be used. The message names file, key, what was found and what is allowed."""


class HostError(DflashError):
    """The host could not answer. `remedy` is what a person should do next.

    Args:
        message: What was asked and what was found, one sentence.
        remedy: The next step, one sentence.
        partial: What a command had printed until then.
    """

    def __init__(self, message: str, remedy: str = "", partial: bytes = b"") -> None:
        super().__init__(message)
        self.remedy = remedy
        self.partial = partial


class HostUnreachable(HostError, ConnectionError):  # noqa: N818 - the state of the host, not a mishap of ours
    """No command can be run there: no route, key refused, unknown host key, no shell, no permission."""


class CommandTimeout(HostError, TimeoutError):  # noqa: N818 - as above
    """A command did not answer within its deadline."""


class EndpointError(DflashError):
    """The endpoint did not answer as the protocol says. `remedy` as in HostError."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class NotServing(EndpointError):  # noqa: N818 - as above
    """The unit's process cannot be asked for a completion; the message says what it does instead."""


class Asleep(NotServing):
    """The engine was put to sleep: whatever would be generated waits until somebody wakes it."""


class Unlocated(EndpointError):  # noqa: N818 - as above
    """Where the service listens could not be seen, so nothing was asked of it: a question left open, no answer."""


class LoadBroken(EndpointError):  # noqa: N818 - as above
    """A load was not answered to its end, so that nothing of it can be judged. `load` is its name in the profile."""

    def __init__(self, load: str, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.load = load


class Refused(DflashError):  # noqa: N818 - a decision, not a mishap
    """A change that cannot be made with certainty, or must not be made now. Nothing was touched."""


class NotPutBack(DflashError):  # noqa: N818 - as HostUnreachable
    """The host is not as it was. The message says what is left, and what to type by hand."""
