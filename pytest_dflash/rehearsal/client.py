"""Every stand-in executable: carries the question to the manager and prints its answer.

Law: run by path with `python -I -S -E`, so standard library only and no import of this package; it must start
in milliseconds. The socket is opened by a relative name, because a socket's path is limited to 107 bytes.
"""

from __future__ import annotations

import json
import os
import socket
import sys

SOCKET = "manager.sock"
REFUSED = 69  # EX_UNAVAILABLE


def ask(folder: str, tool: str, argv: list[str]) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of `tool argv`, from the manager in `folder`.

    Raises:
        OSError: When no manager listens there.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.chdir(folder)
            connection.connect(SOCKET)
        finally:
            os.fchdir(here)
            os.close(here)
        connection.sendall(json.dumps({"tool": tool, "argv": argv}).encode() + b"\n")
        answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    status, stdout, stderr = json.loads(answer)
    return status, stdout, stderr


def main(folder: str, tool: str, argv: list[str]) -> int:
    """Prints as the tool would and returns its exit status."""
    try:
        status, stdout, stderr = ask(folder, tool, argv)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"stand-in {tool}: its manager does not answer: {error}\n")
        return REFUSED
    try:
        sys.stdout.buffer.write(stdout.encode("utf-8", "surrogateescape"))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader had enough, as with `| head`
    sys.stderr.write(stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
