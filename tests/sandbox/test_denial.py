"""A program that failed in its sandbox is told as denied, with the key that would open it."""

import socket
from pathlib import Path
from typing import Any

import pytest

from sandbox.den import Den
from support.requirements import requirement
from switchboard.core.faults import Fault, FaultCode
from switchboard.sandbox.denial import denial


async def denied(den: Den, argv: tuple[str, ...], **more: Any) -> Fault:
    ended = await den.run(argv, **more)
    fault = denial(ended.status, ended.stderr, den.confinement(**more))
    assert fault is not None, ended
    assert fault.code is FaultCode.PERMISSION_DENIED
    return fault


def shell(line: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", line)


@requirement("S3.23")
async def test_a_write_outside_names_the_writable_roots(den: Den) -> None:
    fault = await denied(den, shell("echo x > /etc/switchboard-test"))
    assert (fault.reason, fault.details["knob"]) == ("sandbox-write", "writable_roots")
    assert "`writable_roots`" in fault.hint


@requirement("S3.23")
async def test_the_network_names_its_key(den: Den) -> None:
    program = "import socket; socket.create_connection(('127.0.0.1', 9))"
    ended = await den.python(program)
    fault = denial(ended.status, ended.stderr, den.confinement())
    assert fault is not None
    assert (fault.reason, fault.details["knob"]) == ("sandbox-network", "allow_network")
    assert "allow_network = true" in fault.hint


async def test_a_refused_connection_is_no_denial_where_the_network_is_allowed(den: Den) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        program = f"import socket; socket.create_connection({unused.getsockname()!r})"
        ended = await den.python(program, allow_network=True)
    assert ended.status != 0
    assert denial(ended.status, ended.stderr, den.confinement(allow_network=True)) is None


@requirement("S3.23")
async def test_an_environment_file_names_its_key(den: Den) -> None:
    (den.workspace / ".env").write_text("x")
    fault = await denied(den, shell("cat .env"))
    assert (fault.reason, fault.details["knob"]) == ("sandbox-read", "read_env_files")


@requirement("S3.23")
async def test_a_file_of_the_home_names_the_read_roots(den: Den) -> None:
    fault = await denied(den, shell(f"cat {den.home}/.ssh/id_ed25519"))
    assert (fault.reason, fault.details["knob"]) == ("sandbox-read", "read_roots")
    # What a client reads names no file of the home; the user's own terminal names the folder.
    assert str(den.home) not in fault.message + fault.hint + str(fault.details)
    assert fault.details_for_owner["folder"] == f"{den.home}/.ssh"


async def test_a_forbidden_call_says_that_no_key_opens_it(den: Den) -> None:
    program = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""
    ended = await den.python(program)
    killed_by_the_filter = 128 + 31
    for status, stderr in ((ended.status, ended.stderr), (killed_by_the_filter, "")):
        fault = denial(status, stderr, den.confinement())
        assert fault is not None
        assert (fault.reason, fault.details["knob"]) == ("sandbox-call", "sandbox_profile")


@pytest.mark.parametrize(
    ("status", "stderr"),
    [(0, "Read-only file system"), (1, "syntax error"), (1, ""), (2, "cat: x: No such file")],
)
def test_other_failures_are_not_blamed_on_the_sandbox(den: Den, status: int, stderr: str) -> None:
    assert denial(status, stderr, den.confinement()) is None


def test_without_a_sandbox_there_is_no_denial(den: Den) -> None:
    stderr = "touch: cannot touch 'x': Read-only file system"
    assert denial(1, stderr, den.confinement(profile="none")) is None


@pytest.mark.parametrize(
    "said",
    [
        "Error: getaddrinfo EAI_AGAIN registry.example.org",
        "curl: (6) Could not resolve host: example.org",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "OSError: [Errno 97] Address family not supported by protocol",
        "fatal: unable to access 'https://example.org/': Could not resolve host: example.org",
        "dial tcp: lookup example.org: no such host",
        "  cause: Because hello was not found in the cache and you require hello, we can conclude",
    ],
)
def test_the_words_of_many_programs_are_known(den: Den, said: str) -> None:
    fault = denial(1, f"first line\n{said}\n", den.confinement())
    assert fault is not None
    assert fault.reason == "sandbox-network"


def test_a_browser_that_lacks_its_sockets_names_the_key(den: Den) -> None:
    said = (
        "FATAL:chrome/browser/process_singleton_posix.cc:297] Check failed: . socket() failed: "
        "Address family not supported by protocol (97)"
    )
    fault = denial(134, said, den.confinement())
    assert fault is not None
    assert fault.details["knob"] == "sandbox_features"


def test_a_file_that_is_missing_in_the_workspace_is_just_missing(tmp_path: Path) -> None:
    home = tmp_path / "inside"
    home.mkdir()
    den = Den(home)
    inner = den.home / "project"
    inner.mkdir()
    confinement = den.confinement(cwd=str(inner))
    assert denial(1, f"cat: {inner}/x: No such file or directory", confinement) is None
