"""A process of its own that writes to a vault, and says what it was told is on disk.

scribbler.py FOLDER NAME COUNT
"""

import sys
from pathlib import Path

from switchboard.core.faults import Fault
from vault.ground import file_vault

_SAME = 8


def main() -> None:
    folder, name, count = sys.argv[1:]
    store = file_vault(Path(folder))
    for turn in range(int(count)):
        # Few names, so that the file stays small however long it goes on.
        reference = f"mcp/{name}/env/K{turn % _SAME}"
        try:
            store.put(reference, f"{turn}:" + "x" * 100)
        except Fault as fault:
            sys.stdout.write(f"! {fault.code} {fault.reason} {fault.message}\n")
            sys.stdout.flush()
            return
        # Whole lines: whoever kills this process must not read half of one.
        sys.stdout.write(f"{reference} {turn}\n")
        sys.stdout.flush()


main()
