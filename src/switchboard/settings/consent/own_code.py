"""What of a workspace a server of the user's own runs: its entry stays, and the code may change."""

import hashlib

from switchboard.children.schema import Seal
from switchboard.core.launches import Launch
from switchboard.settings.consent.looking import Unbound
from switchboard.settings.consent.sealed_files import digests_of_files

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
        found = digests_of_files(seal, workspace)
    except Unbound:
        return None
    own = sorted(each for each in found.items() if not each[0].startswith(_ELSEWHERE))
    return hashlib.sha256(repr(own).encode()).hexdigest() if own else ""
