"""The proxy that makes the way longer, and what one connection costs over it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.latency_proxy import latency
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.connection import Connection
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.reading import Value

if TYPE_CHECKING:  # a conftest cannot be imported at run time
    from tests.ssh.conftest import Loopback


def test_the_proxy_delays_each_round_trip_and_keeps_every_byte() -> None:
    sent = bytes(range(256)) * 4000
    with socket.create_server(("127.0.0.1", 0)) as server:

        def echo() -> None:
            peer, _ = server.accept()
            with peer:
                while data := peer.recv(65536):
                    peer.sendall(data)

        thread = threading.Thread(target=echo)
        thread.start()
        with (
            latency("127.0.0.1", server.getsockname()[1], 40) as proxy,
            socket.create_connection(("127.0.0.1", proxy.port), 10) as client,
        ):
            started = time.perf_counter()
            client.sendall(b"x")
            assert client.recv(1) == b"x"
            assert 0.04 <= time.perf_counter() - started < 0.4
            writer = threading.Thread(target=client.sendall, args=(sent,))
            writer.start()
            got = b""
            while len(got) < len(sent):
                got += client.recv(65536)
            writer.join(10)
            assert got == sent
        thread.join(10)


def test_many_questions_over_a_long_way_take_one_connection_and_one_command(
    loopback: Loopback, connect: Callable[..., Connection]
) -> None:
    server = loopback.serve()
    probes = [Probe(f"p{number}", f"echo {number}", lambda reply: Value(reply.text)) for number in range(40)]
    with latency("127.0.0.1", server.port, 40) as proxy:
        connection = connect(
            f"127.0.0.1:{proxy.port}", ssh_config=loopback.config(known=((proxy.port, "host"),))
        )
        taken = Collector(connection, "a.service").collect(probes)
        assert taken.reading(probes[39]) == Value("39\n")
        assert (connection.commands, connection.connections, proxy.accepted) == (1, 1, 1)
        connection.close()
