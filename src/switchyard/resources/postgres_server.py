"""Runs a PostgreSQL server for `preset = "postgres"`: its data in its own folder, its port given.

PostgreSQL refuses to run as root, so root hands it to the user `postgres`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from switchkit.platform.paths import true_folder

_DEBIAN = Path("/usr/lib/postgresql")


def _programs() -> Path:
    """Where the newest PostgreSQL is: on the PATH, or where Debian puts it."""
    found = shutil.which("initdb")
    if found:
        return true_folder(Path(found)).parent
    folders = sorted(_DEBIAN.glob("*/bin"), key=lambda one: int(one.parent.name))
    if not folders:
        sys.exit(f"PostgreSQL is not installed: `initdb` is neither on the PATH nor in {_DEBIAN}")
    return folders[-1]


def main(arguments: list[str]) -> None:
    """Prepare the data once, then become the server."""
    host, port, given = arguments
    data, tools = Path(given), _programs()
    prefix: list[str] = []
    if os.geteuid() == 0:
        # The user `postgres` must be able to reach its data through the folders above.
        data = Path("/var/tmp") / f"switchyard-postgres-{data.stat().st_ino}"  # noqa: S108 - made 0700 for that user
        data.mkdir(exist_ok=True)
        shutil.chown(data, "postgres", "postgres")
        prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
    data.chmod(0o700)
    if not (data / "PG_VERSION").exists():
        command = [tools / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run([*prefix, *map(str, command)], check=True, cwd="/")
    server = [tools / "postgres", "-D", data, "-h", host, "-p", port, "-k", data, "-F"]
    os.chdir("/")
    words = [*prefix, *map(str, server)]
    os.execvp(words[0], words)  # noqa: S606 - this process becomes the server
