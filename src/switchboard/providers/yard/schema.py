"""The project that a workspace holds, as far as the configuration knows it."""

from msgspec import Struct

FILE_NAME = "switchyard.toml"
# Where the yard keeps its state, and its sockets when the paths there are too long.
VARIABLES = ("SWITCHYARD_HOME", "XDG_RUNTIME_DIR")


class YardEntry(Struct, frozen=True, kw_only=True):
    """A `switchyard.toml`, and what its user trusts of it."""

    # The folder that it lies in, with every link followed.
    root: str
    # Over its bytes.
    fingerprint: str
    # False where the user trusts the whole workspace, whatever it holds.
    binding: bool = True
    # Start services with the whole environment of the client.
    inherit_env: bool = False
    # Nobody has trusted it yet: nothing of it is shown.
    waits: bool = False
