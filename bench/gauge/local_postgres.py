"""A PostgreSQL of our own on loopback, as it is installed: what it says is on disk is there."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from pathlib import Path
from tempfile import mkdtemp

_DEBIAN = Path("/usr/lib/postgresql")
_PATIENCE_S = 60.0


@contextlib.contextmanager
def local_postgres() -> Generator[str]:
    """The address of an empty database."""
    # Every folder above it must be open to the user that it runs as.
    folder = Path(mkdtemp(prefix="bench-postgres-", dir="/var/tmp"))
    words = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        words += ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
    words.append("--")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    make = ["-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
    subprocess.run(
        [*words, _program("initdb"), *make, "--locale=C.UTF-8"],
        check=True,
        cwd="/",
        capture_output=True,
    )
    options = [f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}"]
    serve = [_program("postgres"), "-D", str(folder / "data")]
    process = subprocess.Popen(
        [*words, *serve, *(word for each in options for word in ("-c", each))],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        ready = [_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
        end = time.monotonic() + _PATIENCE_S
        while subprocess.run(ready, check=False).returncode:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        # Fast: it does not wait for who is still connected.
        process.send_signal(signal.SIGINT)
        process.wait(_PATIENCE_S)
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found:
        return found
    return str(max(_DEBIAN.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3])))
