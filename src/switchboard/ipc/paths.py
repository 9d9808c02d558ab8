"""Where the socket, the locks and the log of a home are."""

# Part of the shim, which has no time to load pathlib.

import os

from switchkit.platform.paths import true_path

# macOS takes 104 bytes with the final zero, Linux four more.
_MAX_SOCKET_BYTES = 103
# The longest name of a socket: no process has a larger number.
_LONGEST_NAME = "daemon.4194304.sock"
# The same for every window of a user. What `TMPDIR` says may differ, and each would then have a
# daemon of its own.
_SHORT_FOLDER = "/tmp"  # noqa: S108 - the folder in it is ours alone, or not used
_HASH_CHARS = 16
_SUFFIX = ".sock"

# A log that has grown to this becomes `<log>.1`.
MAX_LOG_BYTES = 8 * 1024 * 1024


class DaemonPlaces:
    """The files of one home's daemon."""

    __slots__ = ("_stem", "folder", "folders", "home", "life_lock", "log", "socket", "start_lock")

    def __init__(self, home: str) -> None:
        self.home = home
        folder = own = os.path.join(home, "run")
        self._stem = "daemon"
        if len(os.fsencode(os.path.join(folder, _LONGEST_NAME))) > _MAX_SOCKET_BYTES:
            folder = os.path.join(_SHORT_FOLDER, f"switchboard-{os.getuid()}")
            self._stem = _digest(home)
        self.folder = folder
        # Each is of this user alone, and has to be made.
        self.folders = (folder,) if folder == own else (own, folder)
        self.socket = os.path.join(folder, f"{self._stem}{_SUFFIX}")
        # Held while a daemon is being started, and for as long as a daemon takes clients. In the
        # home in any case: what cleans temporary folders spares sockets, and takes old files.
        self.start_lock = os.path.join(own, "daemon.start")
        self.life_lock = os.path.join(own, "daemon.lock")
        self.log = os.path.join(home, "logs", "daemon.log")

    def side_socket(self, pid: int) -> str:
        """Where commands reach a daemon that takes no more clients."""
        return os.path.join(self.folder, f"{self._stem}.{pid}{_SUFFIX}")

    @staticmethod
    def side_owner(path: str) -> int:
        """The process of the daemon that made such a socket."""
        return int(path.removesuffix(_SUFFIX).rpartition(".")[2])

    def side_sockets(self) -> "list[str]":
        """Those that are there, of daemons that are still draining or were killed meanwhile."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        start, end = f"{self._stem}.", _SUFFIX
        return [
            os.path.join(self.folder, name)
            for name in names
            if name.startswith(start)
            and name.endswith(end)
            and name[len(start) : -len(end)].isdigit()
        ]


def places_from(environ: "dict[str, str]", home: str = "") -> DaemonPlaces:
    """The places that an environment, or a home given by hand, means."""
    return DaemonPlaces(home_from(environ, home))


def home_from(environ: "dict[str, str]", home: str = "") -> str:
    """The home itself."""
    user_home = environ.get("HOME") or os.path.expanduser("~")
    chosen = home or environ.get("SWITCHBOARD_HOME") or os.path.join(user_home, ".switchboard")
    if chosen == "~" or chosen.startswith("~/"):
        chosen = user_home + chosen[1:]
    # Through links: whichever way a window came to its home, it is the same one.
    return true_path(chosen)


def _digest(text: str) -> str:
    # Slow to load, and few homes have a path that long.
    from hashlib import sha256  # noqa: PLC0415

    return sha256(os.fsencode(text)).hexdigest()[:_HASH_CHARS]
