"""What one process may touch."""

from typing import Literal

from msgspec import Struct

# `default` is the sandbox of the platform, `seatbelt` that of macOS by name, `none` is none.
Profile = Literal["default", "seatbelt", "none"]


class Confinement(Struct, frozen=True, kw_only=True):
    """The bounds of a process. Everything that is not opened here is hidden or read-only."""

    # Where it runs, and what it may change, unless it only reads.
    cwd: str
    # The folder that disappears as a whole, apart from what is opened in it.
    home: str
    profile: Profile = "default"
    allow_network: bool = False
    # Whether its folder stays as it is, apart from what is opened in it.
    only_reads: bool = False
    writable_roots: tuple[str, ...] = ()
    read_roots: tuple[str, ...] = ()
    # Where it may keep what outlives it: caches, and data of its own.
    state_dir: str = ""
    # Folders that stay hidden wherever they lie and whatever is opened around them.
    hidden: tuple[str, ...] = ()
    # Whether it may read `.env` files.
    read_env_files: bool = False
    # The search path by which commands are found, and whose folders are opened. From whoever owns
    # the configuration: a caller who could choose it would choose what is opened.
    path: str = ""
