"""What a start waits for: its peers, and the end of what ran before it."""

from collections.abc import Callable, Iterable

from switchyard.supervisor.service.service_thread import BAD, STOP_SLACK_S, ServiceThread
from switchyard.supervisor.stopping import end_run
from switchyard.supervisor.yard import Yard


def dependencies(
    name: str, peers: Callable[[], Iterable[tuple[ServiceThread, str]]]
) -> Callable[[], str | None]:
    """None while a dependency is awaited, "" when all are ready, else what is wrong.

    Called under `context.changed`.
    """

    def waits() -> str | None:
        for thread, condition in peers():
            phase = thread.phase
            if phase in BAD and not (phase == "exited" and condition == "started"):
                return f"`{name}` needs `{thread.launch.service.name}`, which is {phase}"
            reached = ("ready", "completed", "unhealthy")
            if condition == "started":
                reached = (*reached, "starting", "late")
            elif condition == "completed":
                reached = ("completed",)
            if phase not in reached:
                return None
        return ""

    return waits


def end_earlier_run(yard: Yard, key: tuple[str, str]) -> None:
    """Ensure that nothing of an earlier run is left when a new one starts."""
    old = yard.threads.get(key)
    if old and not old.has_ended:
        old.join(old.launch.service.stop.grace_s + STOP_SLACK_S)
    run = yard.book.get(*key)
    if run:
        end_run(run, yard.children)
