"""A small service for tests, with manners good and bad. Standard library only, quick to start."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

HOST = os.environ.get("HOST", "127.0.0.1")
PORT = int(os.environ.get("PORT", "0"))
NAME = f"{os.environ.get('SWITCHYARD_BRANCH', '')} {os.environ.get('SWITCHYARD_SERVICE', '')}"


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(client: socket.socket, status: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
    client.sendall(head.encode() + body)


def talk(client: socket.socket) -> None:
    """HTTP/1.1 with keep-alive; `/events` streams; other first bytes are echoed to the end."""
    with client, contextlib.suppress(OSError):
        raw: bytes = b""
        while True:
            part = client.recv(65536)
            if not part:
                return
            raw += part
            if not raw.startswith((b"GET ", b"POST")):
                echo(client, raw)
                return
            while b"\r\n\r\n" in raw:
                at = raw.index(b"\r\n\r\n")
                head, raw = raw[:at], raw[at + 4 :]
                path = head.split(b" ")[1]
                if path == b"/events":
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                    client.sendall(b"data: one\n\n")
                    time.sleep(1.0)
                    client.sendall(b"data: two\n\n")
                    return
                if path == b"/sick":
                    answer(client, "500 Internal Server Error", b"sick")
                else:
                    answer(client, "200 OK", NAME.encode())


def echo(client: socket.socket, first: bytes) -> None:
    """Send everything back, and say goodbye only after the other side has finished."""
    client.sendall(first)
    total = len(first)
    while part := client.recv(1 << 18):
        total += len(part)
        client.sendall(part)
    client.sendall(f"<{total}>".encode())


def serve() -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, PORT))
    listener.listen(256)
    say(f"listening on {PORT}")
    while True:
        client, _ = listener.accept()
        threading.Thread(target=talk, args=(client,), daemon=True).start()


def detach() -> None:
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


def exit_with(code: str, after: str = "0") -> None:
    say("about to fail: ValueError: broken" if code != "0" else "done")
    time.sleep(float(after))
    sys.exit(int(code))


def wrap() -> None:
    subprocess.Popen([sys.executable, "-S", "-E", __file__, "serve"]).wait()


def daemon() -> None:
    detach()
    serve()


def stubborn() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve()


def count() -> None:
    number = 0
    while True:
        say(f"line {number}")
        number += 1
        time.sleep(0.001)


def speak(*words: str) -> None:
    say(" ".join(words))
    threading.Event().wait()


def once(path: str) -> None:
    """Fail the first time and serve the second."""
    if os.path.exists(path):  # noqa: PTH110 - pathlib is slow to import, and this must be quick
        serve()
    os.close(os.open(path, os.O_CREAT))
    sys.exit(3)


def thrice(path: str) -> None:
    """Fail twice and serve the third time."""
    tries = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR)
    os.write(tries, b"x")
    if os.fstat(tries).st_size > 2:
        serve()
    sys.exit(3)


def late(seconds: str) -> None:
    time.sleep(float(seconds))
    serve()


MODES: dict[str, Callable[..., None]] = {
    "serve": serve,
    "late": late,
    "exit": exit_with,
    "wrap": wrap,
    "daemon": daemon,
    "stubborn": stubborn,
    "count": count,
    "say": speak,
    "once": once,
    "thrice": thrice,
}
MODES[sys.argv[1]](*sys.argv[2:])
