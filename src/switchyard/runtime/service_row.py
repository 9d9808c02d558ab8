"""One service as every answer shows it."""

from typing import Literal, NotRequired, TypedDict


class PortOwnerRow(TypedDict):
    """The process that holds the port of a service instead of the service."""

    pid: int
    command: str


class ServiceRow(TypedDict):
    """A service and its state now. One that was never started has fewer fields."""

    service: str
    status: Literal["running", "stale"]
    phase: str
    reason: str | None
    branch: NotRequired[str]
    kind: NotRequired[str]
    pid: NotRequired[int | None]
    port: NotRequired[int | None]
    canonical_port: NotRequired[int | None]
    url: NotRequired[str | None]
    direct_url: NotRequired[str | None]
    worktree: NotRequired[str]
    head: NotRequired[str]
    changed: NotRequired[bool]
    log_path: NotRequired[str | None]
    run_id: NotRequired[str]
    started_at: NotRequired[float]
    ready_at: NotRequired[float | None]
    exit_code: NotRequired[int | None]
    restarts: NotRequired[int]
    supervised: NotRequired[bool]
    pids: NotRequired[list[int]]
    port_owner: NotRequired[PortOwnerRow]
