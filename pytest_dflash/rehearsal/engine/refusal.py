"""The engine's no: a request that is answered with an error body.

Law: the shape of the error alone.
"""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - it is an answer to the client, not this program's error
    """A request that is answered with an error body."""

    def __init__(self, message: str, status: int = 400, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.status = status
        self.body = {"object": "error", "message": message, "type": kind, "param": None, "code": status}
