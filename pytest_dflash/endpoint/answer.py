"""What a passive route said.

Law: values; a body is data, and what an engine complains about in it is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_dflash.endpoint.protocol import complaint_of
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind, of_status


@dataclass(frozen=True, slots=True)
class Answer:
    """What a passive route said. `json` is None where the body is none; `text` is the body in any case."""

    path: str
    status: int
    text: str
    json: Any
    headers: Mapping[str, str]
    elapsed_s: float

    def document(self) -> Any:
        """The JSON of an answer that must have succeeded.

        Raises:
            EndpointTrouble: The status says otherwise, or the body is no JSON.
        """
        if kind := of_status(self.status):
            raise EndpointTrouble(kind, said(f"GET {self.path}", self.status, self.json), self.status)
        if self.json is None:
            raise EndpointTrouble(
                Kind.NOT_JSON, f"GET {self.path} answered {self.status} with no JSON", self.status
            )
        return self.json


def said(asked: str, status: int, document: Any) -> str:
    """The sentence about a status, with what the engine complains about."""
    complaint = complaint_of(document)
    return f"{asked} answered {status}" + (f": {complaint}" if complaint else "")
