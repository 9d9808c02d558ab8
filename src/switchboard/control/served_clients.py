"""Who is served now, in whichever way: whoever serves notes its clients in the home.

A client may have a shell, and a shell can type what a person would. So nobody below a client gives
consent. The notes lie in the home and not behind a socket, because whoever types a command chooses
its variables, and with them the daemon that it would ask.
"""

import fcntl
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchkit.files import make_private_folder, open_private
from switchkit.platform.processes import process_namespace
from switchkit.processes import began, is_gone

_FOLDER = "serving"


class Served(Struct, frozen=True, kw_only=True):
    """One process that serves, and those who had it started. Each with when it began."""

    server: tuple[int, int]
    clients: tuple[tuple[int, int], ...] = ()
    # Whether others may be served by it, of whom nothing is known: whoever has its token.
    is_open: bool = False
    # In another count of processes these numbers mean nothing.
    namespace: str = ""


@contextmanager
def noted(home: str, pid: int, clients: Iterable[int], *, is_open: bool = False) -> Generator[None]:
    """Note whom a process serves, while the block lasts.

    A home that cannot be written holds no consent either, and is served without a note.
    """
    served = Served(
        server=(pid, began(pid)),
        clients=tuple((each, began(each)) for each in clients),
        is_open=is_open,
        namespace=process_namespace(),
    )
    folder = os.path.join(home, _FOLDER)
    path = os.path.join(folder, f"{pid}-{os.urandom(4).hex()}.json")
    handle = -1
    try:
        with suppress(OSError):
            make_private_folder(folder)
            # Under another name first: nobody reads half of it.
            handle = open_private(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            # Ends with us, and is seen where our number means nothing. Not every disk has locks.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(handle, msgspec.json.encode(served))
            os.rename(f"{path}.new", path)
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)
        if handle >= 0:
            os.close(handle)


def served_now(home: str) -> list[Served]:
    """Everybody who serves. Raises a fault where that cannot be known."""
    folder = os.path.join(home, _FOLDER)
    here = process_namespace()
    found: list[Served] = []
    try:
        names = [each for each in os.listdir(folder) if each.endswith(".json")]
    except FileNotFoundError:
        return []
    except OSError as refused:
        raise _unknown(folder) from refused
    for name in names:
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                served = msgspec.json.decode(file.read(), type=Served)
                is_elsewhere = served.namespace != here
                is_held = is_elsewhere and _is_held(file.fileno())
        except FileNotFoundError:
            continue
        except (OSError, msgspec.MsgspecError) as refused:
            raise _unknown(path) from refused
        if is_held:
            # Whether its client is above us cannot be seen from here, nor from a place that a
            # client made for its shell.
            raise _elsewhere()
        if is_elsewhere or is_gone(*served.server):
            # It ended without a word.
            with suppress(OSError):
                os.unlink(path)
            continue
        found.append(served)
    return found


def _is_held(handle: int) -> bool:
    """Whether the process that wrote a note still runs."""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def clients_of(served: Iterable[Served]) -> frozenset[tuple[int, int]]:
    """All clients, each with when it began."""
    return frozenset(client for each in served for client in each.clients)


def _elsewhere() -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "clients-unknown",
        "a client is served in another count of processes (a container, or a sandbox), so that "
        "nobody can tell from here whether it started this command",
        hint="type it in a terminal of your own, outside of any sandbox or container; "
        "else end that client first",
    )


def _unknown(path: str) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "clients-unknown",
        f"who is served now cannot be read from `{os.path.basename(path)}`, and a client of "
        "Switchboard cannot agree for a person",
        hint=f"end your clients, then remove the folder `{_FOLDER}` of Switchboard's home",
    )
