"""Showing a page of the web in the user's browser."""

import os
import shutil
import subprocess
from collections.abc import Mapping

# What opens a page on macOS, on Windows' Linux, and on every other desktop.
_PROGRAMS = ("open", "wslview", "xdg-open")
# Says which browser to run, as a line for a shell. A project or a tool may have set it.
_LEFT_OUT = "BROWSER"
_WEB = ("https://", "http://")


def open_page(url: str, environ: Mapping[str, str]) -> bool:
    """Open a page, without a shell. Says whether there was a way; nobody waits for the browser."""
    if not url.startswith(_WEB):
        return False
    path = environ.get("PATH", os.defpath)
    # A folder that is named from where we stand may belong to a project.
    path = os.pathsep.join(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))
    programs = _PROGRAMS if os.path.isdir("/System/Library") else _PROGRAMS[1:]
    program = next(filter(None, (shutil.which(name, path=path) for name in programs)), None)
    if program is None:
        return False
    try:
        subprocess.Popen(
            [program, url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in environ.items() if name != _LEFT_OUT},
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return False
    return True
