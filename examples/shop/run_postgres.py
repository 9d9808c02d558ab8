"""Runs a PostgreSQL of this branch alone: its data in its own folder, its port given.

PostgreSQL refuses to run as root, so root hands it to the user `postgres`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def programs() -> Path:
    """Find the newest PostgreSQL: on the PATH, or where Debian puts it."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"))


def main() -> None:
    """Prepare the data once, then become the server."""
    host, port, given = sys.argv[1:4]
    data, tools = Path(given), programs()
    prefix: list[str] = []
    if os.geteuid() == 0:
        # The user `postgres` must be able to reach its data through the folders above.
        data = Path("/var/tmp") / f"switchyard-shop-{data.stat().st_ino}"  # noqa: S108 - made 0700 for that user
        data.mkdir(exist_ok=True)
        shutil.chown(data, "postgres", "postgres")
        prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
    data.chmod(0o700)
    if not (data / "PG_VERSION").exists():
        command = [tools / "initdb", "-D", data, "-U", "shop", "-A", "trust", "--no-sync"]
        subprocess.run([*prefix, *map(str, command)], check=True, cwd="/")  # noqa: S603 - PostgreSQL's own programs
    server = [tools / "postgres", "-D", data, "-h", host, "-p", port, "-k", data, "-F"]
    os.chdir("/")
    words = [*prefix, *map(str, server)]
    os.execvp(words[0], words)  # noqa: S606 - this process becomes the server


main()
