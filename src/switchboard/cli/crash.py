"""What remains of a failure that nobody foresaw: a file to attach to an issue, and one line."""

# Loaded by every command, so without pathlib.

import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence

from switchboard import __version__
from switchboard.cli.report import ErrorReport
from switchkit.files import make_folder, open_private

# Asking `tempfile` for it would cost every start of a server five milliseconds.
_TEMPORARY = "/tmp"  # noqa: S108 - created exclusively, under a name of our own


def save_crash(
    error: BaseException, words: Sequence[str], environ: Mapping[str, str]
) -> ErrorReport:
    """Write the report down and say where it is."""
    text = "\n".join(
        (
            f"switchboard {__version__}, Python {sys.version.split()[0]}, {sys.platform}",
            f"command: switchboard {' '.join(_without_values(words))}",
            "",
            "".join(traceback.format_exception(error)),
        )
    )
    path = _save(text, environ)
    return ErrorReport(
        code="unexpected",
        message=f"something went wrong inside Switchboard: {type(error).__name__}",
        hint=f"the report is in `{path}`; please add it to an issue"
        if path
        else "no report could be saved: neither the home nor the temporary folder can be written",
    )


def _without_values(words: Sequence[str]) -> list[str]:
    # A value may be a secret; the names of options and the verb never are.
    return [
        word.partition("=")[0] if word.startswith("-") else "…" if place else word
        for place, word in enumerate(words)
    ]


def _save(text: str, environ: Mapping[str, str]) -> str:
    home = environ.get("SWITCHBOARD_HOME") or os.path.join(
        environ.get("HOME") or os.path.expanduser("~"),
        ".switchboard",
    )
    name = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (os.path.join(home, "reports"), environ.get("TMPDIR") or _TEMPORARY):
        path = os.path.join(folder, name)
        try:
            make_folder(folder)
            handle = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            continue
        return path
    return ""
