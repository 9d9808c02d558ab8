"""Ports: reserved in one table under a lock, tested by binding, kept while they are free."""

import contextlib
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from switchkit.files import make_private_folder
from switchkit.locks import FileLock
from switchkit.platform.paths import true_folder
from switchkit.platform.ports import is_free
from switchyard.config.shapes import Ports
from switchyard.core.fault import CONFLICT, YardFault
from switchyard.core.slugs import digest
from switchyard.files import read_json, write_json
from switchyard.project.home import Home


class PortOwner(NamedTuple):
    """Who a port is reserved for."""

    root: str
    branch: str
    service: str


class PortTable:
    """The reservations of one home."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def read(self) -> dict[int, PortOwner]:
        """All reservations. An unreadable table counts as empty: binding is the real test."""
        raw: dict[str, Any] = {}
        with contextlib.suppress(ValueError):
            raw = read_json(self._home.ports) or {}
        made: dict[int, PortOwner] = {}
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            for port, owner in raw.get("ports", {}).items():
                made[int(port)] = PortOwner(*owner)
        return made

    def lookup(self, root: Path, branch: str) -> dict[str, int]:
        """The reserved ports of one branch by service. Reserves nothing."""
        return {
            owner.service: port
            for port, owner in self.read().items()
            if owner.root == str(root) and owner.branch == branch
        }

    def reserve(
        self,
        root: Path,
        branch: str,
        services: Iterable[str],
        bounds: Ports,
        *,
        held: Iterable[str] = (),
    ) -> dict[str, int]:
        """A port for each service, the same as last time where that is still free.

        `held` are services that are running: they keep their port although it cannot be bound.
        Raises `YardFault` when the range has no free port left.
        """
        make_private_folder(true_folder(self._home.path))
        running = set(held)
        with FileLock(self._home.path / "ports.lock"):
            table = self.read()
            mine = {
                owner.service: port
                for port, owner in table.items()
                if owner.root == str(root) and owner.branch == branch
            }
            before = dict(table)
            for service in services:
                owner = PortOwner(str(root), branch, service)
                port = mine.get(service)
                if port is not None and self._keeps(port, service, bounds, running):
                    continue
                if port is not None:
                    table.pop(port, None)
                mine[service] = self._fresh(owner, bounds, table)
                table[mine[service]] = owner
            if table != before:
                write_json(
                    self._home.ports,
                    {"version": 1, "ports": {str(p): o for p, o in table.items()}},
                    durable=False,
                )
        return {service: mine[service] for service in mine}

    def _write(self, table: dict[int, PortOwner]) -> None:
        ports = {str(port): list(owner) for port, owner in table.items()}
        write_json(self._home.ports, {"version": 1, "ports": ports}, durable=False)

    @staticmethod
    def _keeps(port: int, service: str, bounds: Ports, running: set[str]) -> bool:
        if service in running:
            return True
        in_range = bounds.start <= port <= bounds.end
        return bounds.sticky and in_range and is_free(port, strict=False)

    @staticmethod
    def _fresh(owner: PortOwner, bounds: Ports, table: dict[int, PortOwner]) -> int:
        span = bounds.end - bounds.start + 1
        first = int(digest("\0".join(owner)), 16) % span
        for step in range(span):
            port = bounds.start + (first + step) % span
            if port not in table and is_free(port, strict=True):
                return port
        raise YardFault(
            "no-free-port",
            f"no free port between {bounds.start} and {bounds.end}",
            hint="widen `[ports]` in switchyard.toml, or run `switchyard prune`",
            exit_code=CONFLICT,
        )

    def release(self, root: Path, branch: str) -> None:
        """Forget the ports of a branch that is gone."""
        self._filter(lambda owner: owner.root != str(root) or owner.branch != branch)

    def retain(self, root: Path, branches: Container[str]) -> None:
        """Forget the ports of every branch of the project but these."""
        self._filter(lambda owner: owner.root != str(root) or owner.branch in branches)

    def _filter(self, keeps: Callable[[PortOwner], bool]) -> None:
        if not self._home.ports.exists():
            return
        with FileLock(self._home.path / "ports.lock"):
            table = self.read()
            kept = {port: owner for port, owner in table.items() if keeps(owner)}
            if kept != table:
                self._write(kept)
