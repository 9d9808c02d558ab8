"""Processes that belong together, as the process table has them."""

import os


def family(leaders: set[int]) -> set[int]:
    """The leaders, everything below them and everything of their sessions."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    for name in os.listdir("/proc"):  # noqa: PTH208 - the reaper starts without pathlib
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue
        parents[int(name)] = int(fields[1])
        if int(name) in leaders or int(fields[3]) in leaders:
            found.add(int(name))
    below = set(found)
    while below:
        below = {pid for pid, parent in parents.items() if parent in below} - found
        found |= below
    return found
