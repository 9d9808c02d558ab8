"""What a failed program says when the sandbox stood in its way, and the key that would open it.

A program does not say who refused it. This reads the words that it left on stderr, so it is a
guess; it is made only for programs that failed, and changes the explanation, never the outcome.
"""

import errno
import os
import re

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchboard.sandbox.confinement import Confinement

# Ended by the filter, as bubblewrap and as the kernel tell it.
_BAD_CALL = (128 + 31, -31)

_WRITE = re.compile(r"EROFS|" + re.escape(os.strerror(errno.EROFS)), re.IGNORECASE)
_NETWORK = re.compile(
    r"EAFNOSUPPORT|ENETUNREACH|EAI_AGAIN|ENOTFOUND|"
    r"address family not supported|network is unreachable|name resolution|"
    r"(?:could not|couldn't|unable to|failed to) resolve|name or service not known|"
    r"unknown host|no such host|dns error",
    re.IGNORECASE,
)
_READ = re.compile(r"EACCES|" + re.escape(os.strerror(errno.EACCES)), re.IGNORECASE)
_GONE = re.compile(r"ENOENT|no such file|not found|cannot find", re.IGNORECASE)
_CALL = re.compile(r"EPERM|" + re.escape(os.strerror(errno.EPERM)), re.IGNORECASE)
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
        "if it may reach the network: `allow_network = true`",
    ),
    "write": _Way(
        "sandbox-write",
        "it wanted to write where its sandbox is read-only",
        "writable_roots",
        "if it may write there, add the folder to `writable_roots`",
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
    "call": _Way(
        "sandbox-call",
        "it made a system call that its sandbox forbids",
        "sandbox_profile",
        'no key opens it; `sandbox_profile = "none"` in your own configuration runs it without',
    ),
}


def denial(status: int, stderr: str, confinement: Confinement) -> Fault | None:
    """The fault of a program that failed in its sandbox, or None when the sandbox had no part."""
    if status == 0 or confinement.profile == "none":
        return None
    found = _way(status, stderr, confinement)
    if found is None:
        return None
    way = _WAYS[found]
    return Fault(
        FaultCode.PERMISSION_DENIED,
        way.reason,
        f"the sandbox stopped it: {way.what}",
        hint=way.hint,
        details={"knob": way.knob, "status": status},
        private=stderr,
    )


def _way(status: int, stderr: str, confinement: Confinement) -> str | None:
    if status in _BAD_CALL:
        return "call"
    # The last words decide: what came before was often tried in vain and survived.
    ways = (_way_of_line(line, confinement) for line in reversed(stderr.splitlines()))
    return next(filter(None, ways), None)


def _way_of_line(line: str, confinement: Confinement) -> str | None:
    if not confinement.allow_network and _NETWORK.search(line):
        return "network"
    if _WRITE.search(line):
        return "write"
    if _READ.search(line):
        return "env" if _ENV_FILE.search(line) else "read"
    if _GONE.search(line) and _is_hidden(line, confinement):
        return "read"
    return "call" if _CALL.search(line) else None


def _is_hidden(line: str, confinement: Confinement) -> bool:
    """Whether a line names something in the home that was not opened."""
    home = os.path.realpath(confinement.home).rstrip(os.sep)
    opened = (confinement.cwd, *confinement.writable_roots, *confinement.read_roots)
    for match in re.finditer(re.escape(home) + r"/[^\s'\"`:,)]*", line):
        if not any(match[0].startswith(os.path.realpath(each)) for each in opened):
            return True
    return False
