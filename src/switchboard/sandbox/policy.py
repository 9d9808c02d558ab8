"""What one process may touch, and what an entry of the configuration says of it."""

import os
from typing import Literal, Protocol

from msgspec import Struct

from switchboard.config.locate import expand_user
from switchboard.sandbox.limits import Limits

# `default` is the sandbox of the platform, `seatbelt` that of macOS by name, `none` is none.
Profile = Literal["default", "seatbelt", "none"]
# What takes the place of bubblewrap where that cannot work, if the user has chosen so.
Fallback = Literal["none", "landlock"]
# What some kinds of programs need on top. `browser`: Unix sockets of its own.
Feature = Literal["browser"]


class SandboxPolicy(Struct, frozen=True, kw_only=True):
    """The bounds of a process. Everything that is not opened here is hidden or read-only."""

    # Where it runs, and what it may change, unless it only reads.
    cwd: str
    # The folder that disappears as a whole, apart from what is opened in it.
    home: str
    profile: Profile = "default"
    fallback: Fallback = "none"
    allow_network: bool = False
    features: tuple[Feature, ...] = ()
    # Whether its folder stays as it is, apart from what is opened in it.
    only_reads: bool = False
    writable_roots: tuple[str, ...] = ()
    read_roots: tuple[str, ...] = ()
    # Where it may keep what outlives it: caches, and data of its own.
    state_dir: str = ""
    # Where package runners keep what they have fetched, for one command line alone.
    cache_dir: str = ""
    # Folders and files that stay hidden wherever they lie and whatever is opened around them.
    hidden: tuple[str, ...] = ()
    # Whether it may read `.env` files.
    read_env_files: bool = False
    # What it may use at most, as written: `memory`, `processes`, `files`, `cpu`, `disk`.
    limits: Limits = {}
    # The search path by which commands are found, and whose folders are opened. From whoever owns
    # the configuration: a caller who could choose it would choose what is opened.
    path: str = ""

    @property
    def has_own_sockets(self) -> bool:
        """Whether it may make Unix sockets, and so has to be kept from those of the host."""
        return "browser" in self.features


class ConfinedEntry(Protocol):
    """An entry that says how what it starts is confined."""

    @property
    def sandbox_profile(self) -> Profile: ...
    @property
    def weaker_sandbox(self) -> str: ...
    @property
    def allow_network(self) -> bool: ...
    @property
    def read_roots(self) -> tuple[str, ...]: ...
    @property
    def writable_roots(self) -> tuple[str, ...]: ...
    @property
    def read_env_files(self) -> bool: ...
    @property
    def limits(self) -> Limits | None: ...


class Surroundings(Struct, frozen=True, kw_only=True):
    """Where the entries of one configuration stand."""

    workspace: str
    user_home: str
    # Switchboard's own, which no sandbox shows.
    home: str
    path: str
    # Further files and folders of which the same is true: other homes, the key of the vault.
    private: tuple[str, ...] = ()

    def policy(
        self,
        entry: ConfinedEntry,
        *,
        cwd: str,
        only_reads: bool = False,
        around: tuple[str, ...] = (),
        state_dir: str = "",
        cache_dir: str = "",
        features: tuple[Feature, ...] = (),
    ) -> SandboxPolicy:
        """What a process of an entry may touch. It may also read what is `around` it."""
        return SandboxPolicy(
            profile=entry.sandbox_profile,
            # Only for one that people are told of by the name of it.
            fallback="landlock" if entry.weaker_sandbox else "none",
            cwd=cwd,
            home=self.user_home,
            allow_network=entry.allow_network,
            only_reads=only_reads,
            read_roots=(*around, *self._folders(entry.read_roots)),
            writable_roots=self._folders(entry.writable_roots),
            state_dir=state_dir,
            cache_dir=cache_dir,
            features=features,
            hidden=(self.home, *self.private),
            read_env_files=entry.read_env_files,
            limits=entry.limits or {},
            path=self.path,
        )

    def _folders(self, written: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            os.path.join(self.workspace, expand_user(each, self.user_home)) for each in written
        )
