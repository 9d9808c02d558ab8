"""The command line that runs another at a terminal of its own. Light: most services need none."""

import sys
from collections.abc import Sequence
from pathlib import Path

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from switchyard.supervisor.service.terminal_holder import main; sys.exit(main(sys.argv[1:]))"
)


def held_command(command: Sequence[str], address: Path) -> list[str]:
    """The command that runs this one at a terminal to which people attach at the address."""
    package_parent = str(Path(__file__).resolve().parents[3])
    return [sys.executable, "-I", "-S", "-c", _BOOT, package_parent, str(address), *command]
