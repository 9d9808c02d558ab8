"""What the user has agreed to, as it is kept on disk: folders, and what runs in them.

The record lies in the home, never in the repository: nothing that decides trust may be read from
what it is to be trusted.
"""

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import msgspec
from msgspec import Struct

from switchboard.config.documents import read_text
from switchboard.config.problems import Problem
from switchkit.files import NotPrivate, check_unforgeable
from switchkit.platform.files import folder_identity

# The fingerprint of what holds too much to be looked at: nobody can have trusted that.
UNBOUND = "unbound"
_SCHEMA = "switchboard.trust/1"
_PRIVATE = 0o600


class SecretGrant(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The secrets that something was given, and where they may be sent."""

    references: tuple[str, ...]
    # The origin of a remote server; empty for a program.
    to: str = ""


class KnownFolder(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The folder that was there when something of it was trusted: another may take its path."""

    identity: str
    # As a whole: programs that are not from it may start in it.
    trusted: bool = False


class TrustedParts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When something was trusted, with a digest of each key and each file of it."""

    at: float = 0.0
    parts: dict[str, str] = {}


class TrustRecord:
    """The fingerprints of each workspace, by the name of what they belong to.

    Beside them are the secrets that each was given, and the folders that are trusted as a whole.
    """

    def __init__(
        self,
        path: str,
        workspaces: dict[str, dict[str, str]],
        grants: dict[str, dict[str, SecretGrant]],
        folders: dict[str, KnownFolder],
        parts: dict[str, dict[str, TrustedParts]],
    ) -> None:
        self.path = path
        self._workspaces = workspaces
        self._grants = grants
        self._folders = folders
        self._parts = parts
        self._same: dict[str, bool] = {}

    def is_same_folder(self, workspace: str) -> bool:
        """Whether the folder is the one that was looked at. Older records do not say."""
        known = self._folders.get(workspace)
        if known is None:
            return True
        if workspace not in self._same:
            self._same[workspace] = folder_now(workspace) == known.identity
        return self._same[workspace]

    def knows_only(self, workspace: str) -> bool:
        """Whether nothing was ever trusted in any other folder."""
        return {*self._workspaces, *self._folders} <= {workspace}

    def trusts_folder(self, workspace: str) -> bool:
        """Whether the folder is trusted as a whole, and is still the same."""
        known = self._folders.get(workspace)
        return known is not None and known.trusted and self.is_same_folder(workspace)

    def trust_folder(self, workspace: str, identity: str = "") -> bool:
        """Trust the folder that was looked at. Says no when another is there by now."""
        if identity and folder_now(workspace) != identity:
            return False
        self._know(workspace, trusted=True)
        return True

    def untrust_folder(self, workspace: str) -> bool:
        """Says whether it was trusted, this folder or another at its path."""
        known = self._folders.get(workspace)
        if known is None or not known.trusted:
            return False
        self._folders[workspace] = KnownFolder(identity=known.identity)
        self._forget(workspace)
        return True

    def holds(self, workspace: str, fingerprint: str, references: Iterable[str] = ()) -> bool:
        """Whether exactly this was trusted in exactly this folder, with these secrets."""
        if self._workspaces.get(workspace, {}).get(fingerprint) is None:
            return False
        if is_unbound(fingerprint):
            return False
        if not self.is_same_folder(workspace):
            return False
        grant = self.grant(workspace, fingerprint)
        return set(references) <= set(grant.references if grant is not None else ())

    def grant(self, workspace: str, fingerprint: str) -> SecretGrant | None:
        """What something was given."""
        if not self.is_same_folder(workspace):
            return None
        return self._grants.get(workspace, {}).get(fingerprint)

    def holders(self, reference: str) -> Iterator[tuple[str, str]]:
        """The workspaces and names of those who were given a secret."""
        for workspace, grants in self._grants.items():
            for print_, grant in grants.items():
                name = self._workspaces.get(workspace, {}).get(print_)
                if reference in grant.references and name is not None:
                    yield workspace, name

    def add(
        self,
        workspace: str,
        fingerprint: str,
        name: str,
        grant: SecretGrant | None = None,
        parts: TrustedParts | None = None,
    ) -> None:
        self._know(workspace)
        self._workspaces.setdefault(workspace, {})[fingerprint] = name
        if parts is not None:
            self._parts.setdefault(workspace, {})[name] = parts
        if grant is not None and grant.references:
            self._grants.setdefault(workspace, {})[fingerprint] = grant

    def remove(self, workspace: str, name: str) -> list[str]:
        """Forget every fingerprint of a name, also those of earlier versions."""
        known = self._workspaces.get(workspace, {})
        gone = [print_ for print_, owner in known.items() if owner == name]
        grants = self._grants.get(workspace, {})
        for print_ in gone:
            del known[print_]
            grants.pop(print_, None)
        self._parts.get(workspace, {}).pop(name, None)
        if not grants:
            self._grants.pop(workspace, None)
        if not known:
            self._workspaces.pop(workspace, None)
            self._parts.pop(workspace, None)
            self._forget(workspace)
        return gone

    def names(self, workspace: str) -> set[str]:
        """The names that have something trusted in a workspace."""
        return set(self._workspaces.get(workspace, {}).values())

    def before(self, workspace: str, name: str) -> TrustedParts | None:
        """What was trusted last under a name, in this very folder; nothing if nothing was."""
        if not self.is_same_folder(workspace) or name not in self.names(workspace):
            return None
        # Older records do not say.
        return self._parts.get(workspace, {}).get(name) or TrustedParts()

    def save(self) -> None:
        # Everyone reads the record, few change it.
        from switchboard.config.writing import write_whole  # noqa: PLC0415

        record: dict[str, Any] = {"schema": _SCHEMA, "workspaces": self._workspaces}
        if self._grants:
            record["grants"] = self._grants
        if self._folders:
            record["folders"] = self._folders
        if self._parts:
            record["parts"] = self._parts
        text = msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=2)
        write_whole(self.path, text.decode() + "\n", mode=_PRIVATE)

    def _know(self, workspace: str, *, trusted: bool = False) -> None:
        """Note which folder is meant. What was trusted in another at its path is not any more."""
        identity = folder_now(workspace)
        known = self._folders.get(workspace)
        if known is not None and known.identity != identity:
            self._workspaces.pop(workspace, None)
            self._grants.pop(workspace, None)
            self._parts.pop(workspace, None)
            known = None
        was_trusted = known is not None and known.trusted
        self._folders[workspace] = KnownFolder(identity=identity, trusted=trusted or was_trusted)
        self._same.pop(workspace, None)

    def _forget(self, workspace: str) -> None:
        """Nothing has to be known of a folder that nothing is trusted in."""
        known = self._folders.get(workspace)
        if known is not None and not known.trusted and workspace not in self._workspaces:
            del self._folders[workspace]


@contextmanager
def changed_record(home: str) -> Generator[TrustRecord]:
    """The record to be changed and saved; nobody else changes it meanwhile."""
    from switchboard.settings.consent.home_lock import home_lock  # noqa: PLC0415 - as above

    with home_lock(home):
        yield read_trust(home, [])


def read_trust(home: str, problems: list[Problem]) -> TrustRecord:
    """The record of a home. One that cannot be believed trusts nothing, and says so."""
    path = os.path.join(home, "trust.json")
    found: list[Problem] = []
    workspaces: dict[str, dict[str, str]] = {}
    grants: dict[str, dict[str, SecretGrant]] = {}
    folders: dict[str, KnownFolder] = {}
    parts: dict[str, dict[str, TrustedParts]] = {}
    read = read_text(path, found) if _is_believable(home, path, found) else None
    if read is not None:
        try:
            record: Any = msgspec.json.decode(read)
            if not isinstance(record, dict):
                raise ValueError("not an object")  # noqa: TRY004 - a damaged file
            tree = cast("dict[str, Any]", record)
            workspaces = msgspec.convert(tree.get("workspaces", {}), dict[str, dict[str, str]])
            grants = msgspec.convert(tree.get("grants", {}), dict[str, dict[str, SecretGrant]])
            folders = msgspec.convert(tree.get("folders", {}), dict[str, KnownFolder])
            parts = msgspec.convert(tree.get("parts", {}), dict[str, dict[str, TrustedParts]])
        except (msgspec.DecodeError, ValueError, RecursionError):
            found.append(Problem(path=path, message="the record of trust is damaged"))
            workspaces, grants, folders, parts = {}, {}, {}, {}
    problems += [
        Problem(
            path=problem.path,
            message=f"{problem.message}; nothing of a workspace is trusted",
            hint=problem.hint or "remove the file and run `switchboard trust` again",
            severity="warning",
        )
        for problem in found
    ]
    return TrustRecord(path, workspaces, grants, folders, parts)


def _is_believable(home: str, path: str, problems: list[Problem]) -> bool:
    """Whether only this user can have written the record."""
    try:
        check_unforgeable(home)
        check_unforgeable(path, may_be_link=False)
    except NotPrivate as refused:
        hint = "close it to other users, remove the record, and run `switchboard trust` again"
        problems.append(Problem(path=refused.filename, message=refused.why, hint=hint))
        return False
    except OSError:
        # Reading it says more, and there may be none.
        return True
    return True


def is_unbound(fingerprint: str) -> bool:
    """Whether it stands for what cannot be told apart. Some have a name before them."""
    return fingerprint.endswith(UNBOUND)


def folder_now(folder: str) -> str:
    """Which folder lies at a path now; nothing where none does, which is none that was trusted."""
    try:
        return folder_identity(folder)
    except OSError:
        return ""
