"""Canonical ports that point to a branch: opened, switched while open, closed."""

import contextlib
import os
from collections.abc import Container
from pathlib import Path

from switchkit.platform import Unknown
from switchkit.platform.ports import holder, listening
from switchkit.processes import began
from switchyard.core.fault import CONFLICT, YardFault
from switchyard.files import write_json
from switchyard.project.home import Home, ProjectPlaces
from switchyard.project.registry import Registry
from switchyard.runtime.checkouts import (
    Checkout,
    CheckoutList,
    checkout_list,
    stored_checkouts,
)
from switchyard.supervisor.forwarding.sockets import loopback_sockets
from switchyard.supervisor.forwarding.tcp_relay import Backend, Router, TcpRelay


def _router(checkout: Checkout) -> Router:
    goal = Backend(checkout.host, checkout.target_port)
    return lambda _: goal


class Forwarders:
    """The canonical ports this supervisor listens on."""

    def __init__(self, relay: TcpRelay, places: ProjectPlaces) -> None:
        self._relay = relay
        self._places = places
        self._open: dict[int, Checkout] = {}
        self.is_saved = True

    def all(self) -> list[Checkout]:
        """The open forwarders."""
        return list(self._open.values())

    def restore(self, families: tuple[str, ...], alive: Container[tuple[str, str]]) -> None:
        """Reopen what was open before this supervisor started and still has a target."""
        for one in stored_checkouts(self._places):
            if (one.branch_slug, one.service) in alive:
                with contextlib.suppress(YardFault):
                    self.open(one, families)

    def open(self, checkout: Checkout, families: tuple[str, ...]) -> str:
        """Point the port at the branch. Returns `opened`, `switched` or `unchanged`.

        Raises `YardFault` when another process holds the port.
        """
        there = self._open.get(checkout.port)
        if there == checkout:
            return "unchanged"
        if there is not None:
            self._relay.retarget(checkout.port, _router(checkout))
        else:
            try:
                sockets = loopback_sockets(checkout.port, families, shared=False)
            except YardFault as wrong:
                raise self._named(checkout.port, wrong) from None
            self._relay.listen(checkout.port, sockets, _router(checkout), sniffs=False)
        self._open[checkout.port] = checkout
        try:
            self._save()
        except OSError:
            # What is not on record would be open without anybody knowing it.
            self._undo(checkout.port, there)
            raise
        return "opened" if there is None else "switched"

    def _undo(self, port: int, there: Checkout | None) -> None:
        if there is None:
            del self._open[port]
            self._relay.close(port)
        else:
            self._open[port] = there
            self._relay.retarget(port, _router(there))

    def close(self, port: int) -> None:
        """Stop listening on the port."""
        if self._open.pop(port, None):
            self._relay.close(port)
            self.is_saved = False
            self.save_again()

    def save_again(self) -> bool:
        """Write down what is open if that failed before; whether nothing is left to write.

        Closing never waits for the disk: what the record says too much is told as not active.
        """
        if not self.is_saved:
            with contextlib.suppress(OSError):
                self._save()
        return self.is_saved

    def forget_lost(self) -> None:
        """Forget recorded ports that could not be opened again: they are somebody else's now."""
        if len(stored_checkouts(self._places)) != len(self._open):
            self._save()

    def _save(self) -> None:
        own = os.getpid()
        noted = CheckoutList(tuple(self.all()), own, began(own))
        if noted.checkouts:
            write_json(self._places.checkouts, noted.as_json())
        else:
            # Needs no room on a full disk.
            self._places.checkouts.unlink(missing_ok=True)
        self.is_saved = True

    def _named(self, port: int, wrong: YardFault) -> YardFault:
        try:
            inodes = listening().get(port)
        except Unknown:
            return wrong
        found = holder(inodes) if inodes else None
        if found is None:
            return wrong
        root = self._project_of(found.pid, port)
        return YardFault(
            "port-taken",
            f"port {port} is checked out by the project in {root}"
            if root
            else f"port {port} is in use by process {found.pid}: {found.command}",
            hint=f"run `switchyard uncheckout` in {root}"
            if root
            else "stop that process; switchyard never stops what it did not start",
            exit_code=CONFLICT,
            details={"port": port, "pid": found.pid, "command": found.command},
        )

    def _project_of(self, pid: int, port: int) -> Path | None:
        """The root of another project of this home whose supervisor has the port."""
        registry = Registry(Home(self._places.home))
        for known in registry.read().projects.values():
            noted = checkout_list(registry.places(known.root))
            if noted.pid == pid and any(one.port == port for one in noted.checkouts):
                return known.root
        return None
