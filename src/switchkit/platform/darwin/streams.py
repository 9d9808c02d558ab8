"""macOS: pipes and sockets between processes, by libproc."""

from switchkit.platform import Unknown
from switchkit.platform.darwin import calls, layouts
from switchkit.platform.darwin.facts import files_of
from switchkit.platform.darwin.layouts import number
from switchkit.platform.darwin.processes import vitals


def stream_of(pid: int, number: int = 0) -> str:
    """Which pipe or socket a process has as its input, or under a number; "" for anything else."""
    about = _pipe(pid, number)
    if about is not None:
        return _name_of_pipe(about)
    socket = _socket(pid, number)
    return _name_of_socket(socket) if socket is not None else ""


def streams_of(pid: int, *, to_write: bool = False) -> set[str] | None:
    """Every pipe and socket that a process holds, or can write to; None when that is not shown."""
    try:
        calls.process_files(pid)
    except OSError:
        return set() if vitals(pid) is None else None
    found: set[str] = set()
    for file in files_of(pid, layouts.OF_PIPE):
        about = _pipe(pid, file)
        if about is not None and (not to_write or _can_write(about)):
            found.add(_name_of_pipe(about))
    for file in files_of(pid, layouts.OF_SOCKET):
        about = _socket(pid, file)
        if about is not None and (not to_write or _can_write(about)):
            found.add(_name_of_socket(about))
    return found


def _can_write(about: bytes) -> bool:
    return bool(number(about, layouts.OPEN_FLAGS_AT) & layouts.CAN_WRITE)


def _pipe(pid: int, file: int) -> bytes | None:
    try:
        return calls.file_info(pid, file, layouts.PIPE_INFO, layouts.PIPE_INFO_BYTES)
    except OSError:
        return None


def _socket(pid: int, file: int) -> bytes | None:
    try:
        return calls.file_info(pid, file, layouts.SOCKET_INFO, layouts.SOCKET_INFO_BYTES)
    except OSError:
        return None


def _name_of_pipe(about: bytes) -> str:
    """The same for both of its ends, which have a number each."""
    ends = sorted((number(about, at, 8)) for at in (layouts.PIPE_OWN_AT, layouts.PIPE_OTHER_AT))
    return f"pipe:[{ends[0]:x}-{ends[1]:x}]"


def _name_of_socket(about: bytes) -> str:
    return f"socket:[{number(about, layouts.SOCKET_AT, 8):x}]"


def is_input_over(pid: int) -> bool:
    """Whether the input of a process is a pipe that nobody anywhere can write to any more."""
    about = _pipe(pid, 0)
    return about is not None and number(about, layouts.PIPE_OTHER_AT, 8) == 0


def unread_bytes(handle: int) -> int:
    """Nobody but the reader knows. Raises `Unknown`."""
    raise Unknown(f"what was read of {handle} is known to its reader only")


def was_cut_off(handle: int) -> bool:
    """Nobody can tell."""
    del handle
    return False


def widen_pipe(handle: int) -> None:
    """Nothing: pipes grow by themselves."""
    del handle
