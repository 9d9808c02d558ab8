"""What a daemon tells of itself. Written by the daemon, read by commands."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct


class SessionStatus(Struct, frozen=True, kw_only=True):
    """One connected client."""

    id: str
    client: str
    protocol: str
    workspace: str
    # The process that the client launched.
    pid: int
    age_s: float
    calls: int = 0
    under_way: int = 0
    failures: int = 0
    last_failure: str = ""


class BoardStatus(Struct, frozen=True, kw_only=True):
    """One running configuration."""

    # By which it is told apart from others of the same workspace.
    number: int = 0
    workspace: str
    config: str = ""
    # The variables in which its sessions differ from those of the first board of the same
    # workspace. Servers that see none of them are shared all the same. Names alone.
    differs: tuple[str, ...] = ()
    servers: int
    tools: int
    sessions: int
    age_s: float
    # Why the files as they are now are not used.
    problem: str = ""
    # The servers that cannot be used, with the reason.
    left_out: dict[str, str] = {}
    # Those that wait for the trust of a person.
    untrusted: tuple[str, ...] = ()


class ChildStatus(Struct, frozen=True, kw_only=True):
    """One server behind a board."""

    name: str
    # Whose login it uses, where the server has several.
    account: str = ""
    scope: str
    workspace: str = ""
    # Of a server that follows, the folder that this process looks at, and its worktree's name.
    root: str = ""
    worktree: str = ""
    session: str = ""
    # The boards that lead to it, and the clients there.
    boards: tuple[int, ...] = ()
    clients: tuple[str, ...] = ()
    # The variables in which its sessions differ from those of the first process of this server in
    # the same workspace, so that they do not share one. Names alone.
    apart: tuple[str, ...] = ()
    transport: str
    is_running: bool
    # Its own process, also in a sandbox, and the memory of that one.
    pid: int = 0
    # The process around it that makes its sandbox; 0 without one.
    sandbox_pid: int = 0
    # What confines it, if that is weaker than what usually does.
    weaker_sandbox: str = ""
    age_s: float = 0.0
    memory_bytes: int = 0
    calls: int = 0
    under_way: int = 0
    last_error: str = ""
    # By the clock of the world; 0 for none, and for one that is so now.
    last_error_at: float = 0.0


class RunStatus(Struct, frozen=True, kw_only=True):
    """One run of an agent that has not ended."""

    id: str
    agent: str
    engine: str
    workspace: str
    state: str
    age_s: float
    doing: str = ""
    approval_id: str = ""


class Stopping(Struct, frozen=True, kw_only=True):
    """A daemon that stops, and the runs of agents that end with it."""

    runs: tuple[RunStatus, ...] = ()


class LoginStatus(Struct, frozen=True, kw_only=True):
    """One login at a remote server: everything but its tokens."""

    server: str
    account: str = ""
    issuer: str = ""
    resource: str = ""
    client_id: str = ""
    client_auth: str = ""
    scopes: tuple[str, ...] = ()
    # `expired` is renewed at the next use; `over` and `none` need somebody to log in.
    state: Literal["valid", "expired", "over", "none"]
    # By the clock of the world; 0 where it is not known, or has not happened.
    expires_at: float = 0.0
    # Whether it can be renewed without anybody.
    renews: bool = False
    logged_in_at: float = 0.0
    refreshed_at: float = 0.0
    last_error: str = ""
    failed_at: float = 0.0


class NoticeStatus(Struct, frozen=True, kw_only=True):
    """How one way to tell a person of questions does. Its address is not told."""

    # `desktop`, `ntfy`, `webhook` or `command`, and its place in `approvals.notify`, from 1 on.
    way: str
    number: int
    sent: int = 0
    failed: int = 0
    # Whether the latest message was lost.
    is_failing: bool = False
    last_error: str = ""
    # By the clock of the world; 0 for none.
    last_error_at: float = 0.0


class DaemonStatus(Struct, frozen=True, kw_only=True):
    """The daemon and everything in it."""

    pid: int
    version: str
    abi: str
    home: str
    socket: str
    log: str
    age_s: float
    memory_bytes: int
    idle_s: float
    is_draining: bool
    # Why this is all that is known of it.
    problem: str = ""
    sessions: tuple[SessionStatus, ...] = ()
    # All of them, those that wait for a person and those of commands included.
    calls_under_way: int = 0
    boards: tuple[BoardStatus, ...] = ()
    children: tuple[ChildStatus, ...] = ()
    runs: tuple[RunStatus, ...] = ()
    # Of a vault with a passphrase: whether this daemon has its key. Empty for every other.
    vault: Literal["", "locked", "unlocked"] = ""
    # Those that its children use.
    logins: tuple[LoginStatus, ...] = ()
    # The ways in which somebody was told of questions; empty where there was nothing to tell.
    notices: tuple[NoticeStatus, ...] = ()


def read_status(told: Mapping[str, Any], pid: int) -> DaemonStatus:
    """What a daemon told of itself, in our words or in those of another version."""
    try:
        return msgspec.convert(told, DaemonStatus)
    except msgspec.ValidationError:
        return little_known(
            pid,
            "it is of another version, which this command understands only in part",
            version=str(told.get("version") or "unknown"),
            abi=str(told.get("abi") or ""),
        )


def little_known(
    pid: int, problem: str, *, version: str = "unknown", abi: str = ""
) -> DaemonStatus:
    """A daemon of which hardly more is known than that it runs."""
    return DaemonStatus(
        pid=pid,
        version=version,
        abi=abi,
        home="",
        socket="",
        log="",
        age_s=0.0,
        memory_bytes=0,
        idle_s=0.0,
        is_draining=False,
        problem=problem,
    )
