"""Where engines keep what they need of a conversation: private, below the home, gone with its runs.

Not in the temporary folder: others write there, and engines refuse to trust it.
"""

import contextlib
import os
import shutil
from collections.abc import Collection

from switchkit.files import make_private_folder

_NAME = "conversations"


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

    def sweep(self, known: Collection[str]) -> None:
        """Remove the folders of conversations that nobody knows any more. Blocks."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._root):
                if name not in known:
                    shutil.rmtree(os.path.join(self._root, name), ignore_errors=True)
