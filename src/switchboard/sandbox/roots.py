"""The folders of a confinement, canonical and checked: what disappears and what is opened."""

import os
import pwd
from collections.abc import Iterable, Sequence

from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.sandbox.masks import SCRATCH, machine_secrets
from switchboard.sandbox.paths import is_below, is_led_through, is_within
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.programs import program_folders
from switchboard.sandbox.refusals import refused_root
from switchboard.sandbox.walls.ground import ShownMachine, ground, shown_machine
from switchkit.platform.paths import true_path

# The kernel's own folders are made anew inside; those of the machine must not come back.
_KERNEL = ("/proc", "/sys", "/dev")


class Roots(Struct, frozen=True, kw_only=True):
    """Every folder by what becomes of it. Opened ones are pairs: where it shows, what shows."""

    cwd: str
    # Emptied, and writable until the end.
    homes: tuple[str, ...]
    # Unreadable.
    hidden: tuple[str, ...]
    readable: tuple[tuple[str, str], ...]
    writable: tuple[str, ...]
    # The working directory of a program that only reads. Its secrets stay hidden all the same.
    unchanging: tuple[str, ...] = ()
    # Writable, and of no concern to anybody outside, so that nothing in them is guarded.
    caches: tuple[str, ...] = ()
    # What of the machine shows; everything where there is none.
    ground: ShownMachine | None = None


def checked_roots(
    confinement: SandboxPolicy,
    command: str,
    *,
    base: ShownMachine | None = None,
    emptied: Iterable[str] | None = None,
) -> Roots:
    """The folders of a confinement for this command. Raises a fault when one cannot be opened.

    What of the machine shows may be given; else the user decides that. A sandbox that shows all of
    it but some folders names those: programs that lie in them are opened.
    """
    homes = _homes(confinement.home)
    own = tuple(true_path(path) for path in confinement.hidden if os.path.exists(path))
    state = confinement.state_dir and _root("the state folder", confinement.state_dir, homes)
    cache = confinement.cache_dir and _root("the cache folder", confinement.cache_dir, homes)
    cwd = _root("the working directory", confinement.cwd, homes)
    further = [_root("`writable_roots`", path, homes) for path in confinement.writable_roots]
    given = [_root("`read_roots`", path, homes, or_file=True) for path in confinement.read_roots]
    for path in (*confinement.writable_roots, *confinement.read_roots):
        _check_stays(path, (cwd, *further))
    stays = confinement.only_reads and not any(is_within(cwd, path) for path in further)
    unchanging = (cwd,) if stays else ()
    writable = (*(() if stays else (cwd,)), *further, *((state,) if state else ()))
    for each in own:
        # Whoever may write above it could rename it away and put another in its place.
        if any(is_within(each, path) for path in (cwd, *writable)):
            raise _refused("a folder that holds Switchboard's own", each)
        if any(is_within(path, each) and path != state for path in (cwd, *writable, *given)):
            raise _refused("a folder of Switchboard's own", each)
    opened = {path: path for path in given}
    # The working directory too where this program only reads it: others may write there.
    # Daemons of the machine listen on sockets outside of the folders of programs, such as `/var`.
    if emptied is None:
        base = base or (shown_machine() if confinement.has_own_sockets else ground())
    closed = (*homes, *(SCRATCH if emptied is None else emptied))
    opened |= _tools(confinement, command, closed, given, (cwd, *writable), base=base)
    if confinement.allow_network:
        opened |= _resolver()
    caches = (cache,) if cache else ()
    shown = {*opened, cwd, *writable, *caches}
    secrets = machine_secrets()
    if base is not None:
        # What does not show need not be hidden.
        seen = (*base.folders, *opened)
        secrets = [each for each in secrets if any(is_within(each, folder) for folder in seen)]
        secrets += base.hidden
    return Roots(
        cwd=cwd,
        homes=homes,
        hidden=tuple(
            path
            for path in dict.fromkeys((*secrets, *own))
            # What is opened by name is not hidden, and an empty home hides what lies in it.
            if path not in shown and path not in homes
        ),
        readable=tuple(opened.items()),
        writable=tuple(dict.fromkeys(writable)),
        unchanging=unchanging,
        caches=caches,
        ground=base,
    )


def _homes(home: str) -> tuple[str, ...]:
    """The home that the environment names, and the one that the system knows."""
    found = true_path(home or os.sep)
    if found == os.sep or not os.path.isdir(found):
        raise refused_root(
            "the home folder is not one that can be hidden", "set `HOME` to your own folder", found
        )
    homes = [found]
    try:
        known = true_path(pwd.getpwuid(os.getuid()).pw_dir)
        # The home of a service may be `/usr/sbin`.
        if known != os.sep and os.stat(known).st_uid == os.getuid():
            homes.append(known)
    except (KeyError, OSError):
        pass
    return tuple(dict.fromkeys(homes))


def _root(what: str, path: str, homes: tuple[str, ...], *, or_file: bool = False) -> str:
    real = true_path(path)
    if not (os.path.isdir(real) or (or_file and os.path.exists(real))):
        raise refused_root(f"{what}: a folder does not exist", "create it, or remove it", real)
    if real == os.sep or any(is_within(home, real) for home in homes):
        raise _refused("the home folder or one above it", path)
    if any(is_within(real, kernel) for kernel in _KERNEL):
        raise _refused("a folder of the kernel", path)
    return real


def _check_stays(path: str, writable: tuple[str, ...]) -> None:
    """A root is named in the settings, but a link in a writable folder would choose another."""
    above = os.path.dirname(os.path.normpath(path))
    for folder in writable:
        if is_led_through(above, (folder,)) and not is_within(true_path(path), folder):
            raise refused_root(
                "a link in a folder that programs may write leads out of it",
                "name the folder itself, not a link to it",
                path,
            )


def _refused(what: str, path: str) -> Fault:
    return refused_root(
        f"{what} is never opened in a sandbox", "open a folder below it, such as a project's", path
    )


def _tools(
    confinement: SandboxPolicy,
    command: str,
    emptied: tuple[str, ...],
    given: Sequence[str],
    writable: tuple[str, ...],
    *,
    base: ShownMachine | None,
) -> dict[str, str]:
    """What has to be opened again so that the command and those of the search path are found."""
    shown = (*given, *writable)
    wanted = program_folders(command, emptied=emptied, path=confinement.path, writable=writable)
    wanted += [
        each
        for each in confinement.path.split(os.pathsep)
        # Through a writable folder it would lead wherever a confined program wants.
        if os.path.isabs(each) and not is_led_through(each, writable)
    ]
    opened: dict[str, str] = {}

    def is_missing(place: str) -> bool:
        if any(is_below(place, each) for each in emptied):
            return True
        return base is not None and not base.shows(place)

    for named in wanted:
        real = true_path(named)
        if os.path.exists(real) and not any(is_within(each, real) for each in emptied):
            # Through a link too: the way that a command was found is the way it is started.
            for place in dict.fromkeys((real, os.path.normpath(named))):
                if is_missing(place):
                    opened[place] = real
    covered = [*opened, *shown]
    return {
        place: real
        for place, real in opened.items()
        if place not in shown and not any(is_below(place, each) for each in covered)
    }


def _resolver() -> dict[str, str]:
    """How names are looked up, where that lies in a folder that is emptied."""
    path = true_path("/etc/resolv.conf")
    lost = os.path.isfile(path) and any(is_below(path, each) for each in SCRATCH)
    return {path: path} if lost else {}
