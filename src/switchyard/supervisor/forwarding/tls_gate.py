"""HTTPS for names: ends TLS and passes the bytes on to the port of plain names.

A thread for each connection, bounded: these are the few connections of a browser. It is loaded only
where somebody asked for certificates.
"""

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable
from typing import NamedTuple

from switchyard.certificates.authority import CertificateAuthority
from switchyard.core.fault import YardFault
from switchyard.supervisor.forwarding.sockets import dial

MOST_CONNECTIONS = 256
MOST_CONTEXTS = 256
HANDSHAKE_S = 15.0
_CHUNK = 1 << 16
_MOST_PENDING = 1 << 18


class NameRules(NamedTuple):
    """Which names have a certificate: their ending, and whether one is known."""

    tld: str
    is_known: Callable[[str], bool]


class TlsGate:
    """Listens on bound sockets until its authority is gone."""

    def __init__(
        self,
        sockets: list[socket.socket],
        authority: CertificateAuthority,
        rules: NameRules,
        names_port: int,
    ) -> None:
        self._sockets = sockets
        self._authority = authority
        self._stamp = authority.stamp()
        self._rules = rules
        self._names_port = names_port
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._making = threading.Lock()
        self._first = self._first_context()
        for sock in sockets:
            sock.setblocking(True)
            threading.Thread(target=self._accept, args=(sock,), daemon=True).start()

    def is_current(self) -> bool:
        """Whether it goes on. It ends with its authority, and follows one that was made anew."""
        stamp = self._authority.stamp()
        if stamp is None:
            self._close()
        elif stamp != self._stamp:
            with self._making:
                self._contexts.clear()
            self._first, self._stamp = self._first_context(), stamp
        return stamp is not None

    def _close(self) -> None:
        for sock in self._sockets:
            # Wakes the thread that waits in `accept`, which closing alone does not.
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _first_context(self) -> ssl.SSLContext:
        made = self._context(self._rules.tld)
        made.sni_callback = self._choose
        return made

    def _context(self, name: str) -> ssl.SSLContext:
        with self._making:
            known = self._contexts.get(name)
            if known is None:
                known = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                known.minimum_version = ssl.TLSVersion.TLSv1_2
                known.set_alpn_protocols(["http/1.1"])
                known.load_cert_chain(self._authority.leaf(name, self._rules.tld))
                if len(self._contexts) < MOST_CONTEXTS:
                    self._contexts[name] = known
            return known

    def _choose(
        self, sock: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext
    ) -> int | None:
        """The certificate of the name that the client asks for."""
        if name is None:
            return None
        name = name.lower()
        try:
            if name != self._rules.tld and not self._rules.is_known(name):
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            sock.context = self._context(name)
        except (YardFault, OSError):
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        return None

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            # Without room the others wait in the kernel.
            self._room.acquire()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError, YardFault):
                if not self.is_current():
                    return
                client.settimeout(HANDSHAKE_S)
                with (
                    self._first.wrap_socket(client, server_side=True) as secure,
                    dial("127.0.0.1", self._names_port, HANDSHAKE_S) as backend,
                ):
                    _pass_on(secure, backend)
        finally:
            client.close()
            self._room.release()


class _Way:
    """One direction of a connection: what was read and is not written yet."""

    def __init__(self, source: socket.socket, goal: socket.socket) -> None:
        self.source, self.goal = source, goal
        self.pending = b""
        self.is_over = False

    def wants_more(self) -> bool:
        return not self.is_over and len(self.pending) < _MOST_PENDING

    def read(self) -> None:
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            while self.wants_more():
                part = self.source.recv(_CHUNK)
                if not part:
                    self.is_over = True
                    return
                self.pending += part

    def write(self) -> None:
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            while self.pending:
                self.pending = self.pending[self.goal.send(self.pending) :]


def _pass_on(secure: ssl.SSLSocket, backend: socket.socket) -> None:
    """Pass bytes both ways until one side has ended and everything of it has arrived."""
    for one in (secure, backend):
        one.setblocking(False)
    ways = (_Way(secure, backend), _Way(backend, secure))
    while True:
        for way in ways:
            way.read()
            way.write()
            if way.is_over and not way.pending:
                return
        # Not `select`, which knows no more than a thousand files, and a flood opens more.
        waiting = select.poll()
        for one in (secure, backend):
            reads = any(way.source is one and way.wants_more() for way in ways)
            writes = any(way.goal is one and way.pending for way in ways)
            waiting.register(one, reads * select.POLLIN | writes * select.POLLOUT)
        waiting.poll()
