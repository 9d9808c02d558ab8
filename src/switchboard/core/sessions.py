"""One connected client."""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

from msgspec import Struct

from switchboard.core.people import Person


class Era(StrEnum):
    """The two generations of the protocol."""

    HANDSHAKE = "handshake"
    MODERN = "modern"


class Overrides(Struct, frozen=True):
    """Where a session wants tools to run otherwise. A tool has to allow it."""

    cwd: str = ""
    env: Mapping[str, str] = {}

    @property
    def is_empty(self) -> bool:
        return not self.cwd and not self.env


NO_OVERRIDES = Overrides()


class ChosenAccount(Struct, frozen=True):
    """Which of a server's accounts a request uses, and why."""

    name: str
    # In words for whoever is asked. Empty while it is only what a client has named.
    why: str = ""


# Ways in of single commands of Switchboard itself: each is a session of one call, by no model.
COMMAND_VIAS = frozenset({"cli", "http-control", "page"})


class ChosenTree(Struct, frozen=True):
    """Which worktree of its repository a request is about, and why."""

    # The folder in it that stands for the workspace.
    root: str
    # What people call it; empty where there is no repository.
    name: str = ""
    # In words for whoever is asked; empty for the one that the session is in by itself.
    why: str = ""
    # Whether the request itself named it: then no path in it may say otherwise.
    is_named: bool = False


class Session(Struct, frozen=True, kw_only=True, eq=False):
    """What is known of a client for as long as it stays connected."""

    id: str
    via: str
    workspace: str
    # Where the client works, when it said so; the workspace otherwise.
    cwd: str = ""
    # The folder that the client started us in, where it did.
    started_in: str = ""
    era: Era = Era.HANDSHAKE
    protocol: str = ""
    client: str = ""
    capabilities: Mapping[str, Any] = {}
    started_at: float = 0.0
    # The process of the client, where it is known: it may not answer for its user.
    client_pid: int = 0
    # When that process began, so that another of the same number is not taken for it; 0 where it
    # is not known.
    client_began: int = 0
    # The processes that had the client do what it does: they may not either.
    on_behalf_of: tuple[int, ...] = ()
    # The run of an agent that the client does its part of, in words: `agent NAME, run ID`.
    acts_for: str = ""
    overrides: Overrides = NO_OVERRIDES
    # The account that one request names, or that was chosen for it; nothing for most.
    account: ChosenAccount | None = None
    # The worktree that one request names, by a word of the client.
    worktree: str = ""
    # The one that was chosen for a request to a server that follows; its root is the workspace.
    tree: ChosenTree | None = None
    # How many runs of agents stand above the client: it may be the engine of one.
    depth: int = 0
    # Whether whoever started it named the workspace: its agents may not leave that project.
    is_pinned: bool = False
    # Where requests come from that stand alone: one start of one server with one token, and the
    # address at the other end. Empty for those whose session lasts.
    entrance: str = ""
    # Whose it is, where many people share one Switchboard.
    person: Person | None = None

    @property
    def host(self) -> str:
        """The process that started it, the same for no other; empty where that is not known.

        The first process has the orphans of everybody, so it stands for nobody.
        """
        is_known = self.client_pid > 1 and self.client_began > 0
        return f"{self.client_pid}:{self.client_began}" if is_known else ""

    @property
    def holder(self) -> str:
        """Who it is of, for what outlasts one request: a session, or a client without one."""
        if self.entrance and self.era is Era.MODERN:
            return f"{self.via}:{self.workspace}:{self.entrance}:{_short_name(self.client)}"
        return self.id


# In the modern era each request says who it is from, and few are from anybody new.
@lru_cache(256)
def _short_name(client: str) -> str:
    # It loads slowly, and everyone waits for the first listing.
    from hashlib import blake2s  # noqa: PLC0415

    return blake2s(client.encode(), digest_size=6).hexdigest()
