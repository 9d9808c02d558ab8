"""What a failed program says when the sandbox stood in its way, and the key that would open it.

A program does not say who refused it. This reads the words that it left on stderr, so it is a
guess; it is made only for programs that failed, and changes the explanation, never the outcome.
"""

import errno
import os
import re
import signal

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchboard.sandbox.masks import MAC_SHARED, SCRATCH
from switchboard.sandbox.paths import is_below
from switchboard.sandbox.policy import SandboxPolicy
from switchkit.platform.paths import true_path

# Ended by the filter, as bubblewrap and as the kernel tell it.
_BAD_CALL = (128 + signal.SIGSYS, -signal.SIGSYS)
# The kernel ends at once whoever may not go on at all.
_OUT_OF_TIME = (128 + signal.SIGKILL, -signal.SIGKILL)
_TOO_LARGE = (128 + signal.SIGXFSZ, -signal.SIGXFSZ)


def _says(*codes: int, also: str = "") -> re.Pattern[str]:
    """Finds error codes, by their names as Node writes them or by their words."""
    names = "|".join(rf"\b{errno.errorcode[code]}\b" for code in codes)
    words = "|".join([*(re.escape(os.strerror(code)) for code in codes), *([also] if also else [])])
    # Names in capitals only: `ENOTFOUND` is also a part of `FileNotFoundError`.
    return re.compile(f"{names}|(?i:{words})")


_WRITE = _says(errno.EROFS)
_READ = _says(errno.EACCES)
_CALL = _says(errno.EPERM)
_GONE = _says(errno.ENOENT, also="not found|cannot find")
_NETWORK = _says(
    errno.EAFNOSUPPORT,
    errno.ENETUNREACH,
    also=r"\bEAI_AGAIN\b|getaddrinfo ENOTFOUND|name resolution|name or service not known|"
    r"nodename nor servname|"
    r"ENOTCACHED|only-if-cached|network connectivity is disabled|was not found in the cache|"
    r"(?:could not|couldn't|unable to|failed to) resolve|unknown host|no such host|dns error",
)
# Chromium, about the first socket that it makes.
_BROWSER = re.compile(r"process_singleton\w{0,40}\.cc")
_ENV_FILE = re.compile(r"(?:^|[\s/'\"`:])\.env(?:\.\w+)?\b")


class _Way(Struct, frozen=True):
    reason: str
    what: str
    knob: str
    hint: str


_WAYS = {
    "network": _Way(
        "sandbox-network",
        "it wanted the network, which is off in its sandbox",
        "allow_network",
        "if it may reach the network: `allow_network = true`; a server from a package runner "
        "needs it until it has started once, and then starts from its cache; a package that is "
        "installed needs none, if its own program is the `command`",
    ),
    "write": _Way(
        "sandbox-write",
        "it wanted to write where its sandbox is read-only",
        "writable_roots",
        "if it may write there, add the folder to `writable_roots`",
    ),
    "change": _Way(
        "sandbox-write",
        "it is declared to only read, and wanted to write",
        "side_effects",
        "if it may write in its folder, add `filesystem-write` to its `side_effects`; "
        "if only in some folder, add that one to `writable_roots`",
    ),
    "env": _Way(
        "sandbox-read",
        "it wanted to read an environment file, which its sandbox hides",
        "read_env_files",
        "if it may read `.env` files: `read_env_files = true`",
    ),
    "read": _Way(
        "sandbox-read",
        "it wanted to read what its sandbox hides",
        "read_roots",
        "if it may read there, add the folder to `read_roots`",
    ),
    "browser": _Way(
        "sandbox-features",
        "it started a browser, which needs Unix sockets",
        "sandbox_features",
        'if it may have a browser: `sandbox_features = ["browser"]`, in your home',
    ),
    "limit": _Way(
        "sandbox-limit",
        "it used more than its `limits` allow",
        "limits",
        "if it may use more, raise `cpu`, `disk` or `memory` in its `limits`",
    ),
    "call": _Way(
        "sandbox-call",
        "it made a system call that its sandbox forbids",
        "sandbox_profile",
        'no key opens it; `sandbox_profile = "none"` in your own configuration runs it without',
    ),
}


_PATH = re.compile(r"/[^\s'\"`:,)]+")


def denial(
    status: int, stderr: str, confinement: SandboxPolicy, *, by_seatbelt: bool = False
) -> Fault | None:
    """The fault of a program that failed in its sandbox, or None when the sandbox had no part.

    That of macOS refuses whatever it refuses with the same error.
    """
    if status == 0 or confinement.profile == "none":
        return None
    found = _way(status, stderr, confinement)
    if found == "call" and by_seatbelt and status not in _BAD_CALL:
        found = _way_of_seatbelt(stderr, confinement)
    if found is None:
        return None
    owner = _folder_in(stderr, confinement) if found == "read" else None
    return _fault(_WAYS[found], status, stderr, owner)


def beyond_limits(status: int, stderr: str) -> Fault:
    """The fault of a program that is known to have used more than it may."""
    return _fault(_WAYS["limit"], status, stderr)


def _fault(way: _Way, status: int, stderr: str, owner: dict[str, str] | None = None) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        way.reason,
        f"the sandbox stopped it: {way.what}",
        hint=way.hint,
        details={"knob": way.knob, "status": status},
        private=stderr,
        owner=owner,
    )


def _folder_in(stderr: str, confinement: SandboxPolicy) -> dict[str, str] | None:
    """The folder that it wanted to read in, by its own last words."""
    for line in reversed(stderr.splitlines()):
        if _way_of_line(line, confinement) == "read":
            named = _PATH.search(line)
            return {"folder": os.path.dirname(named[0])} if named else None
    return None


def _way(status: int, stderr: str, confinement: SandboxPolicy) -> str | None:
    if status in _BAD_CALL:
        return "call"
    if status in _TOO_LARGE or ("cpu" in confinement.limits and status in _OUT_OF_TIME):
        return "limit"
    # The last words decide: what came before was often tried in vain and survived.
    ways = (_way_of_line(line, confinement) for line in reversed(stderr.splitlines()))
    return next(filter(None, ways), None)


def _way_of_line(line: str, confinement: SandboxPolicy) -> str | None:
    if _BROWSER.search(line) and not confinement.has_own_sockets:
        return "browser"
    if not confinement.allow_network and _NETWORK.search(line):
        return "network"
    if _WRITE.search(line):
        return "change" if confinement.only_reads else "write"
    if _READ.search(line):
        return "env" if _ENV_FILE.search(line) else "read"
    if _GONE.search(line) and _is_hidden(line, confinement):
        return "read"
    return "call" if _CALL.search(line) else None


def _way_of_seatbelt(stderr: str, confinement: SandboxPolicy) -> str:
    """What the last refusal was about, by the path that is named beside it."""
    line = next(each for each in reversed(stderr.splitlines()) if _CALL.search(each))
    if _ENV_FILE.search(line):
        return "env"
    if _is_hidden(line, confinement) or _is_shared(line):
        return "read"
    return "change" if confinement.only_reads else "write"


def _is_shared(line: str) -> bool:
    """Whether a line names something that is there, in a folder of macOS that is everybody's."""
    found = [true_path(match[0]) for match in _PATH.finditer(line) if os.path.lexists(match[0])]
    return any(is_below(path, each) for path in found for each in MAC_SHARED)


def _is_hidden(line: str, confinement: SandboxPolicy) -> bool:
    """Whether a line names something that is there, and that the sandbox does not show."""
    home = true_path(confinement.home)
    roots = (confinement.cwd, *confinement.writable_roots, *confinement.read_roots)
    opened = [
        true_path(each) for each in (*roots, confinement.state_dir, confinement.cache_dir) if each
    ]
    for match in _PATH.finditer(line):
        path = os.path.normpath(match[0])
        if is_below(path, home):
            hidden = True
        else:
            folder = os.path.dirname(path)
            # A file that is to be made is not there, but the folder that it is made in is.
            there = os.path.lexists(path) or (folder not in SCRATCH and os.path.isdir(folder))
            hidden = there and any(is_below(path, each) for each in SCRATCH)
        if hidden and not any(is_below(path, each) for each in opened):
            return True
    return False
