"""The dependency graph of services: cycles, closures and levels."""

from collections.abc import Iterable

from switchyard.config.shapes import Service


def cycle(services: dict[str, Service]) -> list[str] | None:
    """One cycle as a walk that ends where it began, or nothing."""
    done: set[str] = set()

    def walk(name: str, trail: list[str]) -> list[str] | None:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in done or name not in services:
            return None
        for peer in services[name].depends_on:
            found = walk(peer, [*trail, name])
            if found:
                return found
        done.add(name)
        return None

    for name in services:
        found = walk(name, [])
        if found:
            return found
    return None


def closure(
    services: dict[str, Service], wanted: Iterable[str], skip: Iterable[str] = ()
) -> list[str]:
    """The wanted services and all they depend on, dependencies first."""
    left_out = set(skip)
    order: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        for peer in services[name].depends_on:
            if peer not in left_out:
                visit(peer)
        order.append(name)

    for name in wanted:
        visit(name)
    return order


def dependants(services: dict[str, Service], name: str) -> set[str]:
    """Everything that depends on the service, directly or not."""
    found: set[str] = set()
    queue = [name]
    while queue:
        peer = queue.pop()
        new = {one for one, its in services.items() if peer in its.depends_on} - found
        found |= new
        queue += new
    return found


def levels(services: dict[str, Service], names: Iterable[str]) -> list[list[str]]:
    """The names in groups that may start together; each group after the one before."""
    chosen = list(dict.fromkeys(names))
    depth: dict[str, int] = {}

    def depth_of(name: str) -> int:
        if name not in depth:
            peers = [peer for peer in services[name].depends_on if peer in chosen]
            depth[name] = 1 + max((depth_of(peer) for peer in peers), default=-1)
        return depth[name]

    grouped: list[list[str]] = []
    for name in sorted((one for one in chosen if one in services), key=depth_of):
        while len(grouped) <= depth_of(name):
            grouped.append([])
        grouped[depth_of(name)].append(name)
    return grouped
