"""Where servers start. The folder that a program starts in is input to it.

Interpreters and package runners take modules, settings and programs from there. A server that does
not come from a workspace has nothing of that workspace, unless its entry says so; and in a folder
that nobody has trusted it does not start there at all.
"""

import os

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.children.starting.bytecode import kept_for
from switchboard.children.starting.runners import program_file, taken_from_folder
from switchboard.config.problems import Problem
from switchboard.settings.consent.trust_record import folder_now
from switchboard.settings.sections import Omission, Settings
from switchkit.commands import lies_in

_TRUST = "switchboard trust --folder"
_SAY = 'add `start_in = "workspace"` to its entry'


class Ground(Struct, frozen=True, kw_only=True):
    """What decides over the places of servers."""

    workspace: str
    user_home: str
    # Switchboard's own.
    home: str
    is_trusted: bool

    @property
    def is_users(self) -> bool:
        """Whether the home of the user lies in it: what is there is the user's own."""
        return lies_in(self.user_home, self.workspace)


def with_places(settings: Settings) -> Settings:
    """The settings with the place of every server. Those that have none are left out."""
    ground = Ground(
        workspace=settings.workspace,
        user_home=settings.user_home,
        home=settings.home,
        is_trusted=settings.folder_trusted,
    )
    servers: list[ServerEntry] = []
    refused: list[Omission] = []
    for entry in settings.servers:
        found = placed(entry, ground)
        if isinstance(found, Omission):
            refused.append(found)
        else:
            servers.append(found)
    return replace(
        settings,
        servers=tuple(servers),
        omitted=(*settings.omitted, *refused),
        warnings=(*settings.warnings, *map(_warning, refused)),
    )


def placed(entry: ServerEntry, ground: Ground) -> ServerEntry | Omission:
    """A server with the place where it starts, or why it has none."""
    if entry.transport != "stdio":
        return entry
    if entry.follow:
        if (refusal := _why_not_followed(entry, ground)) is not None:
            return refusal
        # It stands where its caller works: an empty folder would be nobody's worktree.
        where = entry.start_in or "workspace"
        entry = replace(entry, start_in=where, folder_id=folder_now(ground.workspace))
    is_asked_for = entry.start_in == "neutral"
    if entry.fingerprint:
        # Of the workspace, and trusted as it is written.
        kept = kept_for(entry, ground.workspace, ground.home)
        return replace(entry, neutral=is_asked_for, apart_from="", bytecode=kept)
    place = _Place(entry, ground)
    refusal = None if is_asked_for else place.refusal()
    if refusal is not None:
        reason, hint = refusal
        return Omission(entry=entry, reason=reason, hint=hint, needs_folder=hint == _TRUST)
    if entry.start_in == "workspace":
        return replace(entry, neutral=False, apart_from="")
    return replace(
        entry,
        neutral=is_asked_for or place.is_not_for_it,
        apart_from="" if ground.is_users else ground.workspace,
    )


def _why_not_followed(entry: ServerEntry, ground: Ground) -> Omission | None:
    """Why a server cannot stand in the worktrees of its callers; a suite may have said so."""
    # Few servers follow, and everyone waits for the first listing.
    from switchboard.settings.rules.follow_rules import standing_fault  # noqa: PLC0415

    if (fault := standing_fault(entry.scope, entry.sandbox_features)) is not None:
        return Omission(entry=entry, reason=fault[1], hint=f"remove `{fault[0]}`, or `follow`")
    if lies_in(entry.cwd, ground.workspace):
        return None
    reason = "it follows its callers, and its `cwd` is in none of their worktrees"
    return Omission(entry=entry, reason=reason, hint="write `cwd` from the workspace")


class _Place:
    """The place that an entry has by itself, if it does not come from the workspace."""

    def __init__(self, entry: ServerEntry, ground: Ground) -> None:
        self._entry = entry
        self._ground = ground
        self._file = program_file(entry.command, entry.args)
        own = lies_in(entry.cwd, ground.home)
        self._is_there = lies_in(entry.cwd, ground.workspace) and not own
        # By `cwd`, which a file of servers has only where its user has named it.
        self._is_told = self._is_there and os.path.normpath(entry.cwd) != ground.workspace

    @property
    def _takes(self) -> bool:
        """Whether it would take from there what nothing keeps it from taking."""
        return taken_from_folder(self._entry.command, self._entry.args) == "settings"

    @property
    def is_not_for_it(self) -> bool:
        return self._is_there and (not self._ground.is_trusted or self._takes)

    def refusal(self) -> tuple[str, str] | None:
        """Why it cannot start at all, and what to do."""
        ground, file = self._ground, self._file
        if self._entry.start_in == "workspace":
            reason = "it is to start in the workspace, and this folder is not trusted"
            return None if ground.is_trusted else (reason, _TRUST)
        if self._is_there and file and not os.path.isabs(file):
            reason = f"`{file}` is looked for in the workspace, which it does not come from"
            return reason, f"write its full path, or {_SAY}"
        if ground.is_trusted:
            reason = f"`{self._entry.command}` takes settings from `cwd`, a folder of the workspace"
            return (reason, f"remove `cwd`, or {_SAY}") if self._is_told and self._takes else None
        if file and not ground.is_users and lies_in(file, ground.workspace):
            reason = f"it runs `{os.path.basename(file)}` of this folder, which is not trusted"
            return reason, _TRUST
        return None


def _warning(omission: Omission) -> Problem:
    entry = omission.entry
    return Problem(
        path=entry.origin.path,
        line=entry.origin.line,
        column=entry.origin.column,
        key=f"mcp_servers.{entry.name}",
        message=f"the server `{entry.name}` is left out: {omission.reason}",
        hint=omission.hint,
        severity="warning",
    )
