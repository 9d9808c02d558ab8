"""What is promised on each system, as data: no text says more than this table.

`proved` is shown by tests on that system, `simulated` on Linux over a double of the other kernel,
`unproven` is built from documentation alone, `weaker` holds less, `absent` is not there.
"""

import sys
from typing import Literal, NamedTuple

from switchkit.platform.processes import has_handles

Standing = Literal["proved", "simulated", "unproven", "weaker", "absent"]


class Promise(NamedTuple):
    """One promise: how it stands on Linux and on macOS, and what is less there."""

    what: str
    linux: Standing
    macos: Standing
    less: str


_SIGNALS = Promise(
    "A signal reaches exactly the process that is meant",
    "proved",
    "weaker",
    "Without a handle of the kernel (macOS, Linux without `pidfd`) it is compared a moment "
    "before; one that cannot be compared gets none.",
)
PROMISES = (
    Promise(
        "A client cannot approve what it asked for itself",
        "proved",
        "simulated",
        "Below a process that the system hides (`hidepid`) nobody approves by a command.",
    ),
    _SIGNALS,
    Promise(
        "Nothing that was started survives its end",
        "proved",
        "weaker",
        "On macOS nobody adopts orphans: a program of the system that begins a session of its "
        "own and loses its parent before anybody has looked (twice a second, and before each end) "
        "stays.",
    ),
    Promise(
        "A run whose record is lost is found again",
        "proved",
        "weaker",
        "macOS hides the variables of its own programs (`/bin/sh`), by which they are known.",
    ),
    Promise(
        "Who holds a port is told",
        "proved",
        "simulated",
        "On macOS of this user's processes; others show by binding alone.",
    ),
    Promise(
        "A port that somebody listens on is never taken for free",
        "proved",
        "simulated",
        "By the rules of each kernel; those of macOS are played by a double.",
    ),
    Promise(
        "A session goes on when its daemon ends",
        "proved",
        "simulated",
        "Without `memfd` its ledger is a file without a name in the folder of the socket.",
    ),
    Promise(
        "Confined servers reach what was opened, and nothing else",
        "proved",
        "unproven",
        "On macOS paths and network only: no limits, no features, and none inside another sandbox. "
        "Where Linux has no user namespaces they are left out.",
    ),
    Promise(
        "Of the network a confined server reaches the chosen hosts alone",
        "proved",
        "unproven",
        "On macOS by a port of the machine that its profile opens, with a password: it cannot "
        "listen for itself, and a program that has macOS check certificates (Go) reaches no "
        "`https`. What stands for `sandbox-exec` in the tests has Linux hold it to that port.",
    ),
    Promise(
        "Limits of a server",
        "proved",
        "absent",
        "macOS lets a process set its own limits alone.",
    ),
    Promise(
        "What is on disk is on disk",
        "proved",
        "unproven",
        "By `F_FULLFSYNC` on macOS, which takes milliseconds.",
    ),
    Promise(
        "Large folders of a worktree share their blocks",
        "proved",
        "unproven",
        "By `clonefile` on macOS; where the disk cannot, they are left out.",
    ),
    Promise(
        "Logs of running services stay bounded",
        "proved",
        "simulated",
        "By holes in files; on a disk without them the end is moved aside and the log begins anew, "
        "and a line of that moment can be lost.",
    ),
    Promise(
        "A path has one spelling, as a fence and as a key",
        "proved",
        "simulated",
        "macOS takes `Work` for `work`: paths are spelled as the disk has them, and what is not "
        "there yet as it was written. Disks of Linux that fold names are not asked.",
    ),
    Promise(
        "An answer counts as delivered when the client has read it",
        "proved",
        "weaker",
        "On macOS when it was written.",
    ),
    Promise(
        "Names under `*.localhost` lead to services",
        "proved",
        "weaker",
        "Before macOS 26 in Chrome, Firefox and curl only; `switchyard doctor` says so.",
    ),
    Promise(
        "A home has one daemon, however many clients come at once",
        "proved",
        "simulated",
        "macOS refuses where 128 wait: who is refused while a daemon lives tries again.",
    ),
    Promise(
        "A client that a desktop started finds the programs of its user",
        "proved",
        "simulated",
        "The login shell is asked once; macOS starts clients with hardly any search path.",
    ),
    Promise(
        "A server reads what the window may that it works for",
        "proved",
        "weaker",
        "macOS gives a daemon the permissions of the app that started it first; "
        "`switchboard doctor` tells of folders where that matters.",
    ),
)


class PromiseHere(NamedTuple):
    """One promise on this system. `less` is empty where nothing is."""

    what: str
    standing: Standing
    less: str


# Which of them people are told of one by one, the most important first.
_TOLD: tuple[Standing, ...] = ("absent", "weaker", "unproven")
_IS_MACOS = sys.platform == "darwin"


def promises_here() -> tuple[PromiseHere, ...]:
    """Every promise as it stands on this system."""
    return tuple(map(_here, PROMISES))


def _here(promise: Promise) -> PromiseHere:
    standing = promise.macos if _IS_MACOS else promise.linux
    if promise is _SIGNALS and not has_handles():
        standing = "weaker"
    return PromiseHere(promise.what, standing, "" if standing == "proved" else promise.less)


def promise_lines() -> list[str]:
    """The same for people: how many stand how, then each that holds less or was never tried."""
    here = promises_here()
    count = {each.standing: 0 for each in here}
    for each in here:
        count[each.standing] += 1
    first = ", ".join(f"{number} {standing}" for standing, number in count.items())
    rest = [
        f"{each.standing:<9} {each.what}: {each.less}"
        for standing in _TOLD
        for each in here
        if each.standing == standing
    ]
    if "simulated" in count:
        rest.append("simulated: tried on Linux over a double of macOS (docs/platforms.md)")
    return [first, *rest]


def as_markdown() -> str:
    """The table as the page shows it."""
    rows = [f"| {each.what} | {each.linux} | {each.macos} | {each.less} |" for each in PROMISES]
    head = ["| promise | Linux | macOS | what is less |", "|---|---|---|---|"]
    return "\n".join((*head, *rows)) + "\n"
