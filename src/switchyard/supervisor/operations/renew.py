"""Starting services again because their files changed, and with them what depends on them."""

from collections.abc import Callable, Generator, Iterable

from switchyard.config.graph import dependants, levels
from switchyard.config.shapes import Service
from switchyard.project.scope import SHARED_SLUG
from switchyard.runtime.launch import ServiceLaunch
from switchyard.runtime.log.lines import add_line
from switchyard.supervisor.operations.peers import dependencies, end_earlier_run
from switchyard.supervisor.service.service_thread import BAD, ServiceThread
from switchyard.supervisor.yard import Yard

_ENDED = (*BAD, "completed")
_TOLD_FILES = 3


def watch(yard: Yard, launches: Iterable[ServiceLaunch]) -> None:
    """Start these again whenever their files change, as long as they are not stopped."""
    yard.watcher.watch(launches, lambda key, files: _renew(yard, key, files))


def _renew(yard: Yard, key: tuple[str, str], files: list[str]) -> bool:
    if not _is_kept(yard, key):
        return False
    if not files:
        return True
    with yard.holding(_slugs(yard, key)):
        if not _is_kept(yard, key):
            return False
        more = f" and {len(files) - _TOLD_FILES} more" if len(files) > _TOLD_FILES else ""
        told = f"switchyard: starts again, changed: {', '.join(files[:_TOLD_FILES])}{more}"
        add_line(yard.threads[key].launch.log, told)
        _start_again(yard, _affected(yard, key))
    return True


def _is_kept(yard: Yard, key: tuple[str, str]) -> bool:
    """Whether the service is still wanted: running, or ended by itself and not stopped since."""
    thread = yard.threads.get(key)
    return thread is not None and (thread.is_alive or thread.phase in _ENDED)


def _slugs(yard: Yard, key: tuple[str, str]) -> set[str]:
    return {slug for slug, _ in list(yard.threads)} if key[0] == SHARED_SLUG else {key[0]}


def _services(yard: Yard) -> dict[str, Service]:
    return {one.launch.service.name: one.launch.service for one in list(yard.threads.values())}


def _affected(yard: Yard, key: tuple[str, str]) -> list[tuple[str, str]]:
    """The service and what depends on it, dependencies first."""
    slug, name = key
    services = _services(yard)
    names = {name, *dependants(services, name)}
    order = [one for level in levels(services, sorted(names)) for one in level if one in names]
    return [
        found
        for one in order
        for found in list(yard.threads)
        if found[1] == one
        and (found[0] == slug or slug == SHARED_SLUG)
        and (found == key or _is_kept(yard, found))
    ]


def _start_again(yard: Yard, keys: list[tuple[str, str]]) -> None:
    made: list[ServiceThread] = []
    # Under one lock: none of them may see another as ready that is about to go.
    with yard.context.changed:
        ended = [key for key in keys if not yard.threads[key].renew(_gate(yard, key))]
        for key in ended:
            launch = yard.threads[key].launch
            thread = ServiceThread(launch, yard.context, waits_for=_gate(yard, key))
            yard.threads[key] = thread
            made.append(thread)
    for thread in made:
        end_earlier_run(yard, thread.launch.key)
        thread.start()


def _gate(yard: Yard, key: tuple[str, str]) -> Callable[[], str | None]:
    slug, name = key
    wanted = yard.threads[key].launch.service.depends_on

    def peers() -> Generator[tuple[ServiceThread, str]]:
        for peer, condition in wanted.items():
            thread = yard.threads.get((slug, peer)) or yard.threads.get((SHARED_SLUG, peer))
            if thread:
                yield thread, condition

    return dependencies(name, peers)
