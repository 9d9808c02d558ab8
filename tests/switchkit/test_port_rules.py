"""A port is taken when anybody listens on it, by the rules of either system."""

import _socket
import errno
import socket
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from switchkit.platform import Unknown, ports

PORT = 4321
ANY = ("0.0.0.0", "::")


class Held(NamedTuple):
    """What somebody has on the port: a listener, or a connection that has just ended."""

    address: str
    is_ours: bool = True
    listens: bool = True


class BsdSocket:
    """The rules of macOS for one port, as its kernel source has them.

    Without SO_REUSEADDR any match refuses, a wildcard on either side included. With it the same
    address refuses a listener, and so does any match of another user.
    """

    held: tuple[Held, ...] = ()

    def __init__(self, family: int, kind: int) -> None:
        assert kind == socket.SOCK_STREAM
        self._six = family == socket.AF_INET6
        self._reuses = False
        self.bound = False

    def setsockopt(self, level: int, name: int, value: int) -> None:
        self._reuses |= (level, name, value) == (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def bind(self, address: tuple[str, int]) -> None:
        assert not self.bound
        for each in self.held:
            if (":" in each.address) != self._six:
                continue
            matches = each.address == address[0] or {each.address, address[0]} & {*ANY}
            refuses = not self._reuses or not each.is_ours
            refuses |= each.address == address[0] and each.listens
            if address[1] == PORT and matches and refuses:
                raise OSError(errno.EADDRINUSE, "Address already in use")
        self.bound = True

    def close(self) -> None:
        pass


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {name: getattr(_socket, name) for name in dir(_socket) if name.isupper()}
    monkeypatch.setattr(ports, "_socket", SimpleNamespace(**names, socket=BsdSocket))
    monkeypatch.setattr(ports, "REUSE_REFUSES_LISTENERS", False)


def hold(monkeypatch: pytest.MonkeyPatch, *held: Held) -> None:
    monkeypatch.setattr(BsdSocket, "held", held)
    shown = {PORT: {1}} if any(each.is_ours and each.listens for each in held) else {}
    monkeypatch.setattr(ports, "listening", lambda: shown)


def can_bind(host: str = "127.0.0.1") -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made: Any = BsdSocket(family, socket.SOCK_STREAM)
    try:
        ports.bind_alone(made, (host, PORT))
    except OSError:
        return False
    return made.bound


@pytest.mark.usefixtures("mac")
@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
@pytest.mark.parametrize("is_ours", [True, False])
def test_a_port_with_a_listener_is_not_free_on_macos(
    monkeypatch: pytest.MonkeyPatch, address: str, is_ours: bool
) -> None:
    hold(monkeypatch, Held(address, is_ours=is_ours))
    assert not ports.is_free(PORT, strict=False)
    assert not ports.is_free(PORT, strict=True)
    loopback = "::1" if ":" in address else "127.0.0.1"
    # Beside a wildcard, its traffic from this machine would be ours.
    assert not can_bind(loopback)


@pytest.mark.usefixtures("mac")
def test_what_has_just_ended_keeps_nobody_from_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    hold(monkeypatch, Held("127.0.0.1", listens=False))
    assert ports.is_free(PORT, strict=False)
    assert not ports.is_free(PORT, strict=True)
    assert can_bind()
    hold(monkeypatch)
    assert ports.is_free(PORT, strict=True)


@pytest.mark.usefixtures("mac")
def test_a_port_that_is_held_by_nobody_knows_whom_is_not_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown() -> dict[int, set[int]]:
        raise Unknown("the system does not tell who listens")

    hold(monkeypatch, Held("127.0.0.1", listens=False))
    monkeypatch.setattr(ports, "listening", unknown)
    assert not ports.is_free(PORT, strict=False)
    assert not can_bind()


@pytest.mark.parametrize("refuses", [True, False])
def test_both_rules_agree_on_this_kernel(monkeypatch: pytest.MonkeyPatch, refuses: bool) -> None:
    monkeypatch.setattr(ports, "REUSE_REFUSES_LISTENERS", refuses)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        served, _ = listener.accept()
        # Who closes first has the port in the kernel's memory for a while.
        served.close()
        client.close()
        assert not ports.is_free(port, strict=False)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            ports.bind_alone(other, ("127.0.0.1", port))
    assert not ports.is_free(port, strict=True)
    assert ports.is_free(port, strict=False)
    with socket.socket() as other:
        ports.bind_alone(other, ("127.0.0.1", port))
