"""T8: what the way through a canonical port or a name costs, against socat and no way at all."""

import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from stage import Row, await_ports, end, free_port, header, middle, staged

HTTPD = Path(__file__).with_name("httpd.py")
BULK = 200_000_000


NAME = "web.default.shop.localhost"


def requests(port: int, *headers: str, count: int = 16, seconds: int = 2) -> float:
    """Requests a second over so many connections, by wrk."""
    more = [word for one in headers for word in ("-H", one)]
    words = ["wrk", "-t1", f"-c{count}", f"-d{seconds}s", *more, f"http://127.0.0.1:{port}/"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Requests/sec:\s+([\d.]+)", told)
    assert found
    return float(found[1])


def round_trip_us(port: int) -> float:
    """One byte there and back."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        took: list[float] = []
        for _ in range(3000):
            began = time.perf_counter()
            client.sendall(b"x")
            client.recv(1)
            took.append((time.perf_counter() - began) * 1e6)
    return middle(took)


def bulk_mb(port: int) -> float:
    """Megabytes a second in one direction."""
    block = b"S" * (1 << 20)
    with socket.create_connection(("127.0.0.1", port)) as client:
        began = time.perf_counter()
        sent = 0
        while sent < BULK:
            client.sendall(block)
            sent += len(block)
        client.shutdown(socket.SHUT_WR)
        client.recv(1)
        return sent / (time.perf_counter() - began) / 1e6


def rows(rounds: int) -> list[Row]:
    """Direct, socat and ours, interleaved."""
    canonical, beside = free_port(), free_port()
    text = (
        f'[services.web]\ncommand = ["{sys.executable}", "-S", "-E", "{HTTPD}", "{{port}}"]\n'
        f"port = {canonical}\n"
    )
    seen: dict[tuple[str, str, str], list[float]] = {}
    head = header()
    names = int(head.split("port = ")[1])
    with staged(head + text) as stage:
        stage.sy("up")
        stage.sy("checkout")
        direct = int(stage.sy("where", "web").split("port")[1].split()[0])
        socat = subprocess.Popen(
            [
                "socat",
                f"TCP4-LISTEN:{beside},bind=127.0.0.1,reuseaddr,fork,nodelay",
                f"TCP4:127.0.0.1:{direct},nodelay",
            ],
            start_new_session=True,
        )
        await_ports([beside])
        try:
            for _ in range(rounds):
                for who, port in (("direct", direct), ("socat", beside), ("switchyard", canonical)):
                    found = {
                        ("round trip of one byte", who, "us"): round_trip_us(port),
                        ("bulk in one direction", who, "MB/s"): bulk_mb(port),
                    }
                    if shutil.which("wrk"):
                        found["HTTP requests, 16 connections", who, "1/s"] = requests(port)
                    for key, value in found.items():
                        seen.setdefault(key, []).append(value)
                if shutil.which("wrk"):
                    for who, port in (
                        ("direct", direct),
                        ("canonical", canonical),
                        ("name", names),
                    ):
                        value = requests(port, f"Host: {NAME}", "Connection: close", count=8)
                        key = ("HTTP connections, 8 clients", who, "1/s")
                        seen.setdefault(key, []).append(value)
        finally:
            end([socat])
    return [
        Row(measure, who, middle(values), unit) for (measure, who, unit), values in seen.items()
    ]
