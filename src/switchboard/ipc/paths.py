"""Where the socket, the locks and the log of a home are."""

# Part of the shim, which has no time to load pathlib.
# ruff: noqa: PTH100, PTH111, PTH118

import os

# Linux takes 108 bytes, macOS 104, both with the final zero.
_MAX_SOCKET_BYTES = 100
_HASH_CHARS = 16


class DaemonPlaces:
    """The files of one home's daemon."""

    __slots__ = ("folder", "home", "life_lock", "log", "socket", "start_lock")

    def __init__(self, home: str, temporary: str) -> None:
        self.home = home
        folder = os.path.join(home, "run")
        stem = "daemon"
        if len(os.fsencode(os.path.join(folder, "daemon.sock"))) > _MAX_SOCKET_BYTES:
            folder = os.path.join(temporary, f"switchboard-{os.getuid()}")
            stem = _digest(home)
        self.folder = folder
        self.socket = os.path.join(folder, f"{stem}.sock")
        # Held while a daemon is being started, and for as long as a daemon listens.
        self.start_lock = os.path.join(folder, f"{stem}.start")
        self.life_lock = os.path.join(folder, f"{stem}.lock")
        self.log = os.path.join(home, "logs", "daemon.log")


def places_from(environ: "dict[str, str]", home: str = "") -> DaemonPlaces:
    """The places that an environment, or a home given by hand, means."""
    user_home = environ.get("HOME") or os.path.expanduser("~")
    chosen = home or environ.get("SWITCHBOARD_HOME") or os.path.join(user_home, ".switchboard")
    if chosen == "~" or chosen.startswith("~/"):
        chosen = user_home + chosen[1:]
    return DaemonPlaces(os.path.abspath(chosen), environ.get("TMPDIR") or "/tmp")  # noqa: S108


def _digest(text: str) -> str:
    # Slow to load, and few homes have a path that long.
    from hashlib import sha256  # noqa: PLC0415

    return sha256(os.fsencode(text)).hexdigest()[:_HASH_CHARS]
