"""What the starter is told, and how it is run."""

import marshal
import os
import sys
from collections.abc import Mapping, Sequence
from io import FileIO

from switchboard.sandbox.landlock import starter
from switchboard.sandbox.landlock.rights import handled
from switchboard.sandbox.seccomp import Machine, seccomp_filter
from switchkit.platform.files import scratch_file

# Nothing of the environment, of the folder it runs in or of installed packages has a say in it.
STARTER = (os.path.realpath(sys.executable), "-I", "-S", os.path.abspath(starter.__file__))


def written_orders(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    version: int,
    machine: Machine,
    allow_network: bool,
    grants: Sequence[tuple[str, int]],
) -> FileIO:
    """An open file with the orders for one start."""
    walls = handled(version, allow_network=allow_network)
    # As bytes, so that no setting of a language changes a name.
    orders = {
        "files": walls.files,
        "network": walls.network,
        "scopes": walls.scopes,
        "size": walls.size,
        "rules": [(os.fsencode(path), rights & walls.files) for path, rights in grants],
        "filter": seccomp_filter(machine, allow_network=allow_network, has_namespaces=False),
        "cwd": os.fsencode(cwd),
        "program": os.fsencode(argv[0]),
        "argv": [os.fsencode(each) for each in argv],
        "env": {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
    }
    file = FileIO(scratch_file("orders"), "r+b")
    file.write(marshal.dumps(orders))
    file.seek(0)
    return file
