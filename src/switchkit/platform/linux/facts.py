"""Linux: what a process runs, where it stands and what it holds, by `/proc`."""

import os
import sys
import time

from switchkit.platform.linux.processes import PROC, read

assert sys.platform == "linux"

# Devices and what the kernel makes up are nothing that anybody misses.
_MADE_UP = ("/dev/", "/proc/", "/sys/", "/memfd:")
_GONE = " (deleted)"


def command_line(pid: int) -> str:
    """The command line as one text, for messages."""
    return " ".join(command_words(pid)).rstrip()


def command_words(pid: int) -> tuple[str, ...]:
    """The words that a process was started with; none when it has ended or is not ours to see."""
    raw = read(f"{PROC}/{pid}/cmdline")
    return tuple(raw.decode("utf-8", "replace").removesuffix("\0").split("\0")) if raw else ()


def working_folder(pid: int) -> str | None:
    """Where a process stands; None when it has ended or is not ours to see."""
    try:
        return os.readlink(f"{PROC}/{pid}/cwd")
    except OSError:
        return None


def user_of(pid: int) -> int | None:
    """Who started a process, by the number of the user, also where its files are not shown."""
    for line in read(f"{PROC}/{pid}/status").splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[1])
    return None


def owner_of(pid: int) -> int | None:
    """Whose a process is, by the number of the user; None when it has ended."""
    try:
        return os.stat(f"{PROC}/{pid}").st_uid
    except OSError:
        return None


def resident_bytes(pid: int) -> int | None:
    """What a process has in memory now; None if it has ended."""
    fields = read(f"{PROC}/{pid}/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if len(fields) > 1 else None


def age_s(pid: int, began: int) -> float | None:
    """For how many seconds a process has run that began then."""
    del pid
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    return max(0.0, now - began / os.sysconf("SC_CLK_TCK"))


def open_paths(pid: int) -> set[str]:
    """The files that a process has open, as far as it shows them."""
    folder = f"{PROC}/{pid}/fd"
    found: set[str] = set()
    try:
        numbers = os.listdir(folder)
    except OSError:
        return found
    for number in numbers:
        try:
            path = os.readlink(f"{folder}/{number}")
        except OSError:
            continue
        if path.startswith("/") and not path.startswith(_MADE_UP) and not path.endswith(_GONE):
            found.add(path)
    return found


def has_open(pid: int, wanted: os.stat_result) -> bool:
    """Whether the process has this very file open."""
    folder = f"{PROC}/{pid}/fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return False
    for number in numbers:
        try:
            found = os.stat(f"{folder}/{number}")
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False
