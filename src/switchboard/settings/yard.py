"""The `switchyard.toml` of a workspace: it runs commands, so its user has to trust its bytes."""

# On the cold-start path, where pathlib would double the cost.
# ruff: noqa: PTH118

import os
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from switchboard.config.documents import read_text
from switchboard.config.problems import Problem
from switchboard.providers.yard.schema import FILE_NAME, YardEntry
from switchboard.settings.trust import TrustRecord, read_trust

# Beside the digests of servers in one record; nothing else is written this way.
_KIND = "yard:"


def found_yard(
    tree: Mapping[str, Any],
    workspace: str,
    record: TrustRecord | None,
    problems: list[Problem],
) -> tuple[YardEntry | None, YardEntry | None]:
    """The project of a workspace that may be used, and the one that nobody has trusted.

    Without a record, everything is trusted.
    """
    wanted = tree.get("yard", {})
    print_ = yard_fingerprint(workspace, problems) if wanted.get("enabled", True) else ""
    if not print_:
        return None, None
    entry = YardEntry(
        root=workspace,
        fingerprint=print_,
        binding=record is not None,
        inherit_env=wanted.get("inherit_env", False),
    )
    is_trusted = record is None or record.holds(workspace, print_)
    return (entry, None) if is_trusted else (None, entry)


def yard_trusted(entry: YardEntry, home: str, folder: str) -> bool:
    """Whether the `switchyard.toml` of a folder, as it is now, is one that its user has trusted.

    To be asked just before a call: the file may have changed, and a worktree is governed by the
    file at the root of its project, which lies in another folder.
    """
    if not entry.binding:
        return True
    print_ = yard_fingerprint(folder)
    if folder == entry.root and print_ == entry.fingerprint:
        return True
    return bool(print_) and read_trust(home, []).holds(folder, print_)


def yard_fingerprint(folder: str, problems: list[Problem] | None = None) -> str:
    """The digest of the file in a folder as it is now; empty when there is none to be used."""
    found: list[Problem] = []
    read = read_text(os.path.join(folder, FILE_NAME), found, within=folder)
    # Whatever is wrong with it, the rest of the workspace does without.
    if problems is not None:
        problems += [replace(problem, severity="warning") for problem in found]
    return "" if read is None else _KIND + read[1]
