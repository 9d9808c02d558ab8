"""What of a workspace a server of the user's own runs: its entry stays, and the code may change."""

import hashlib
from collections.abc import Sequence

from switchboard.children.schema import Seal
from switchboard.children.starting.runners import taken_from_folder
from switchboard.core.calls.launches import Launch
from switchboard.settings.consent.looking import Unbound
from switchboard.settings.consent.sealed_files import digests_of_files
from switchkit.commands import lies_in
from switchkit.platform.paths import true_path

# Files that a command line names elsewhere are not the repository's.
_ELSEWHERE = "outside:"


def own_code(launch: Launch, workspace: str) -> str | None:
    """A digest of the files of the workspace that a launch leads to; empty where it runs none.

    Nothing where there is too much to be looked at.
    """
    seal = Seal(
        stated="", words=launch.words, cwd=launch.cwd, env=tuple(sorted(launch.env.items()))
    )
    try:
        # A program of the user's own that takes no code from its folder is not bound to all of it.
        takes = taken_from_folder(*_split(launch.words)) != "nothing"
        is_there = lies_in(launch.cwd or workspace, true_path(workspace))
        found = digests_of_files(seal, workspace, may_be_whole=takes and is_there)
    except Unbound:
        return None
    own = sorted(each for each in found.items() if not each[0].startswith(_ELSEWHERE))
    return hashlib.sha256(repr(own).encode()).hexdigest() if own else ""


def _split(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    return (words[0], words[1:]) if words else ("", ())
