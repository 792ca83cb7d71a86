"""Asking the service: the protocol, what a correct completion is, and the client.

Law: only `client` opens a connection. Where the endpoint is, and whether a tunnel leads there, is decided
elsewhere: a base URL is handed in.
"""

from __future__ import annotations
