"""macOS: what is known of facts today."""

import os

from switchkit.platform import Unknown


def age_s(began: int) -> float | None:
    del began
    return None


def command_line(pid: int) -> str:
    del pid
    return ""


def command_words(pid: int) -> tuple[str, ...]:
    del pid
    return ()


def has_open(pid: int, wanted: os.stat_result) -> bool:
    del pid, wanted
    return False


def open_paths(pid: int) -> set[str]:
    del pid
    return set()


def owner_of(pid: int) -> int | None:
    del pid
    return None


def resident_bytes(pid: int) -> int | None:
    del pid
    return None


def user_of(pid: int) -> int | None:
    del pid
    return None


def working_folder(pid: int) -> str | None:
    raise Unknown(f"the system does not tell where process {pid} stands")
