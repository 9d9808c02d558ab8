"""A command tool as the merged configuration describes it."""

from typing import Literal

from msgspec import Raw, Struct

from switchboard.children.schema import SandboxFallback, SandboxProfile, Seal
from switchboard.core.network.egress import EgressHost
from switchboard.core.origins import Origin, Scope

SideEffect = Literal["filesystem-read", "filesystem-write", "network"]

DEFAULT_TIMEOUT_MS = 120_000
ANY_OBJECT = Raw(b'{"type":"object"}')


class CommandEntry(Struct, frozen=True, kw_only=True):
    """One command tool: what it runs for each call, and how.

    `command`, `args`, `cwd` and `env` are as they are written: `${VAR}` is filled at each start, so
    that a value which was changed meanwhile is the one that counts.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    # Empty means where the session is.
    cwd: str = ""
    env: dict[str, str] = {}
    sandbox_profile: SandboxProfile = "default"
    # What the user lets serve where bubblewrap cannot work. Of the settings, not of the entry.
    sandbox_fallback: SandboxFallback = "none"
    # The weaker sandbox that serves here, by its name; nothing until that was found out.
    weaker_sandbox: str = ""
    # What is opened in the sandbox. Folders are absolute, in the workspace, or begin with `~/`.
    allow_network: bool = False
    read_roots: tuple[str, ...] = ()
    writable_roots: tuple[str, ...] = ()
    read_env_files: bool = False
    # What it may use at most: `memory`, `processes`, `files`, `cpu`, `disk`.
    limits: dict[str, int | str] | None = None
    # The hosts that it may reach from a sandbox that has no other network, and whether a person is
    # asked about others. From the user's own files alone.
    egress: tuple[EgressHost, ...] = ()
    egress_ask: bool = False
    # What was configured, and who said so; only the user's own word can lift an approval.
    requires_approval: bool | None = None
    required_by: Scope = Scope.DEFAULT
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    streaming: bool = False
    description: str = ""
    display_name: str = ""
    input_schema: Raw = ANY_OBJECT
    side_effects: tuple[SideEffect, ...] = ()
    # What a session may change.
    allow_cwd_override: bool = False
    allow_env_overrides: tuple[str, ...] = ()
    # Of everything that is stated; what is trusted is its fingerprint, empty for the user's own.
    seal: Seal = Seal(stated="")
    fingerprint: str = ""
    origin: Origin = Origin()

    @property
    def is_to_only_read(self) -> bool:
        """Whether it is declared to read and to do nothing else, which its sandbox holds it to."""
        return set(self.side_effects) == {"filesystem-read"}

    def __repr__(self) -> str:
        # Who writes a secret into the file shall not find it in a log as well.
        return f"CommandEntry({self.name!r})"


class CommandOmission(Struct, frozen=True, kw_only=True):
    """A command tool that is declared and cannot be used."""

    name: str
    reason: str
    hint: str = ""
    origin: Origin = Origin()


class CommandTools(Struct, frozen=True, kw_only=True):
    """Every command tool of a configuration, by what can be done with it."""

    usable: dict[str, CommandEntry]
    # Those of the workspace that its owner has not trusted yet.
    untrusted: dict[str, CommandEntry]
    # Those that cannot be run as they are written.
    omitted: tuple[CommandOmission, ...]
