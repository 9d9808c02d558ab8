"""Where engines keep what they need of a conversation: private, below the home, gone with its runs.

Not in the temporary folder: others write there, and engines refuse to trust it.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Collection

from switchkit.files import make_private_folder

_NAME = "conversations"
_YOUNG_S = 86_400.0


class ConversationFolders:
    """One folder for each conversation, named by the run that began it."""

    def __init__(self, home: str) -> None:
        self._root = os.path.join(home, _NAME)

    def make(self, run_id: str) -> str:
        """The folder of a conversation. Blocks."""
        make_private_folder(self._root)
        folder = os.path.join(self._root, run_id)
        make_private_folder(folder)
        return folder

    def make_start(self, run_id: str) -> str:
        """The folder that servers of a conversation start in. Blocks."""
        folder = os.path.join(self.make(run_id), "start")
        make_private_folder(folder)
        return folder

    def sweep(self, known: Collection[str]) -> None:
        """Remove the folders of conversations of which every run is forgotten. Blocks.

        A young one may belong to a run that began after somebody looked.
        """
        before = time.time() - _YOUNG_S
        with contextlib.suppress(FileNotFoundError):
            for each in os.scandir(self._root):
                if each.name not in known and each.stat(follow_symlinks=False).st_mtime < before:
                    shutil.rmtree(each.path, ignore_errors=True)
