"""macOS: what a process runs, where it stands and what it holds, by libproc and sysctl."""

import os
import time

from switchkit.platform.darwin import calls, layouts
from switchkit.platform.darwin.layouts import number, text
from switchkit.platform.darwin.processes import arguments_and_variables

_DEVICES = "/dev/"
_32_BITS = 0xFFFF_FFFF


def command_line(pid: int) -> str:
    """The command line as one text, for messages."""
    return " ".join(command_words(pid)).rstrip()


def command_words(pid: int) -> tuple[str, ...]:
    """The words that a process was started with; none when it has ended or is not ours to see."""
    found = arguments_and_variables(pid)
    return tuple(word.decode("utf-8", "replace") for word in found[0]) if found else ()


def working_folder(pid: int) -> str | None:
    """Where a process stands; None when it has ended or is not ours to see."""
    try:
        about = calls.process_info(pid, layouts.FOLDER_INFO, 0, layouts.FOLDER_INFO_BYTES)
    except OSError:
        return None
    return os.fsdecode(text(about, layouts.FOLDER_PATH_AT, layouts.PATH_BYTES)) or None


def user_of(pid: int) -> int | None:
    """Who started a process, by the number of the user."""
    return _short(pid, layouts.SHORT_REAL_USER_AT)


def owner_of(pid: int) -> int | None:
    """Whose a process is, by the number of the user; None when it has ended."""
    return _short(pid, layouts.SHORT_USER_AT)


def _short(pid: int, at: int) -> int | None:
    try:
        about = calls.process_info(
            pid, layouts.SHORT_INFO, layouts.WITH_ZOMBIES, layouts.SHORT_INFO_BYTES
        )
    except OSError:
        return None
    return number(about, at)


def resident_bytes(pid: int) -> int | None:
    """What a process has in memory now; None if it has ended or is not ours to see."""
    try:
        about = calls.process_info(pid, layouts.TASK_INFO, 0, layouts.TASK_INFO_BYTES)
    except OSError:
        return None
    return number(about, layouts.RESIDENT_AT, 8)


def age_s(pid: int, began: int) -> float | None:
    """For how many seconds a process of ours has run; None when it has ended."""
    del began
    try:
        about = calls.process_info(
            pid, layouts.BSD_INFO, layouts.WITH_ZOMBIES, layouts.BSD_INFO_BYTES
        )
    except OSError:
        return None
    started = number(about, layouts.BSD_STARTED_S_AT, 8)
    return max(0.0, time.time() - started - number(about, layouts.BSD_STARTED_US_AT, 8) / 1e6)


def files_of(pid: int, kind: int) -> list[int]:
    """The numbers under which a process has files of one kind open; none when that is not shown."""
    try:
        return shown_files(pid, kind)
    except OSError:
        return []


def shown_files(pid: int, kind: int) -> list[int]:
    """The same. Raises `OSError` when it is not shown."""
    raw = calls.process_files(pid)
    return [
        number(raw, at + layouts.FILE_NUMBER_AT)
        for at in range(0, len(raw) - layouts.FILE_BYTES + 1, layouts.FILE_BYTES)
        if number(raw, at + layouts.FILE_KIND_AT) == kind
    ]


def _vnodes(pid: int) -> list[bytes]:
    found: list[bytes] = []
    for file in files_of(pid, layouts.OF_VNODE):
        try:
            found.append(
                calls.file_info(pid, file, layouts.VNODE_PATH_INFO, layouts.VNODE_PATH_INFO_BYTES)
            )
        except OSError:
            continue
    return found


def open_paths(pid: int) -> set[str]:
    """The files that a process has open, as far as it shows them."""
    paths = (
        os.fsdecode(text(each, layouts.VNODE_PATH_AT, layouts.PATH_BYTES)) for each in _vnodes(pid)
    )
    return {path for path in paths if path.startswith("/") and not path.startswith(_DEVICES)}


def has_open(pid: int, wanted: os.stat_result) -> bool:
    """Whether the process has this very file open."""
    key = (wanted.st_dev & _32_BITS, wanted.st_ino)
    return any(
        (number(each, layouts.DEVICE_AT), number(each, layouts.INODE_AT, 8)) == key
        for each in _vnodes(pid)
    )
