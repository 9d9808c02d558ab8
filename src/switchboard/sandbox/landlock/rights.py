"""The rights that Landlock knows, by the version of it that a kernel speaks."""

from msgspec import Struct

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE, _MAKE_DIR, _MAKE_REG = 1 << 4 | 1 << 5, 1 << 7, 1 << 8
_MAKE_FIFO, _MAKE_SYM = 1 << 10, 1 << 12
# Between folders. The kernel grants nothing by it that a file did not have before.
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
# Everything up to links.
_FIRST = (1 << 13) - 1

LIST = _READ_DIR
READ = _EXECUTE | _READ_FILE | _READ_DIR
# No devices, and no sockets.
_MAKE = _REMOVE | _MAKE_DIR | _MAKE_REG | _MAKE_FIFO | _MAKE_SYM
CHANGE = READ | _WRITE_FILE | _TRUNCATE | _MAKE | _REFER
# The devices that are opened.
DEVICE = _READ_FILE | _WRITE_FILE

# Before this one a file that is open to nobody can be truncated by anybody.
OLDEST = 3
_WITH_NETWORK, _WITH_DEVICES, _WITH_SCOPES = 4, 5, 6
_TCP = 1 << 0 | 1 << 1
_SCOPES = 1 << 0 | 1 << 1


class Handled(Struct, frozen=True):
    """What is forbidden unless a rule allows it, and how much of the kernel's structure is used."""

    files: int
    network: int
    scopes: int
    size: int


def handled(version: int, *, allow_network: bool) -> Handled:
    """Everything that a kernel can forbid. A version that we do not know has what it had before."""
    files = _FIRST | _REFER | _TRUNCATE | (_IOCTL_DEV if version >= _WITH_DEVICES else 0)
    if version < _WITH_NETWORK:
        return Handled(files, 0, 0, 8)
    network = 0 if allow_network else _TCP
    return Handled(
        files,
        network,
        _SCOPES if version >= _WITH_SCOPES else 0,
        24 if version >= _WITH_SCOPES else 16,
    )


def reaches_others(version: int) -> bool:
    """Whether a program inside can signal other processes of its user."""
    return version < _WITH_SCOPES
