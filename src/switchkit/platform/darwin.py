"""macOS: what is known of it today. The rest is `Unknown`, or the answer of the safe side."""

import os
import tempfile

from switchkit.platform import Unknown, Vitals

SHOWS_PROCESSES = False


def pids() -> list[int]:
    """Nobody is shown."""
    return []


def vitals(pid: int) -> Vitals | None:
    """Nobody is shown."""
    del pid
    return None


def boot() -> str:
    raise Unknown("the system does not tell which boot this is")


def first_children(pid: int) -> list[int]:
    raise Unknown(f"the system does not tell the children of process {pid}")


def process_namespace() -> str:
    """There is one count of processes."""
    return ""


def command_line(pid: int) -> str:
    del pid
    return ""


def command_words(pid: int) -> tuple[str, ...]:
    del pid
    return ()


def raw_environment(pid: int) -> bytes:
    del pid
    return b""


def working_folder(pid: int) -> str | None:
    raise Unknown(f"the system does not tell where process {pid} stands")


def stream_of(pid: int, number: int = 0) -> str:
    del pid, number
    return ""


def streams_of(pid: int, *, to_write: bool = False) -> set[str] | None:
    del pid, to_write
    return None


def is_input_over(pid: int) -> bool:
    del pid
    return False


def user_of(pid: int) -> int | None:
    del pid
    return None


def owner_of(pid: int) -> int | None:
    del pid
    return None


def resident_bytes(pid: int) -> int | None:
    del pid
    return None


def open_exit(pid: int) -> int:
    raise Unknown(f"the end of process {pid} cannot be watched")


def signal_exactly(pid: int, began: int, number: int) -> bool:
    """By number alone: when a process began is not known, so `began` cannot be compared."""
    del began
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def set_limit(pid: int, kind: int, limits: "tuple[int, int]") -> None:
    """A process keeps ours: code between fork and exec is not safe in a program with threads."""
    del pid, kind, limits


def lower_limit(pid: int, kind: int, most: int) -> None:
    del kind, most
    raise OSError(f"a limit of process {pid} cannot be set from outside")


def adopt_orphans() -> bool:
    return False


def watch_folders(folders: "list[int]") -> int:
    raise OSError(f"{len(folders)} folders cannot be watched by one descriptor")


def watch_writes(files: "list[int]") -> int:
    raise OSError(f"{len(files)} files cannot be watched by one descriptor")


def folder_identity(path: str) -> str:
    """What tells a folder from any other, also from a later one at its path. Raises `OSError`."""
    found = os.stat(path)
    return f"{found.st_dev:x}-{found.st_ino:x}-{getattr(found, 'st_birthtime', '')}"


def scratch_file(name: str) -> int:
    """A file whose name is gone at once. Raises `OSError`."""
    handle, path = tempfile.mkstemp(prefix=name)
    os.unlink(path)
    return handle


def clone_file(reading: int, writing: int) -> bool:
    del reading, writing
    return False


def punch_hole(handle: int, length: int) -> bool:
    del handle, length
    return False


def unread_bytes(handle: int) -> int:
    raise Unknown(f"what was read of {handle} is known to its reader only")


def was_cut_off(handle: int) -> bool:
    """Nobody can tell."""
    del handle
    return False


def widen_pipe(handle: int) -> None:
    """Nothing: pipes grow by themselves."""
    del handle
