"""Programs that run with the rights of their owner: none is left in the workspace."""

import stat
from pathlib import Path

import pytest

from sandbox.den import Den
from support.requirements import attack

# Each way makes a file of its own; one that is refused is left out.
LEAVES = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"

def plain(name):
    with open(name, "w") as file:
        file.write("#!/bin/sh\\n")
    os.chmod(name, 0o755)
    return name

def by_descriptor(name, mode):
    with open(plain(name)) as file:
        os.fchmod(file.fileno(), mode)

def by_folder(name, mode):
    plain(name)
    here = os.open(".", os.O_RDONLY)
    os.chmod(name, mode, dir_fd=here)

def by_call(number, *args):
    return libc.syscall(ctypes.c_long(number), *args)

def by_nameless(name, mode):
    number = os.open(".", os.O_TMPFILE | os.O_WRONLY, mode)
    follow = 0x400
    libc.linkat(-100, f"/proc/self/fd/{number}".encode(), -100, name.encode(), follow)

def by_struct(name, mode):
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, mode, 0)
    by_call(437, -100, name.encode(), how, 24)

def by_attribute(name):
    # cap_setuid, effective and permitted, as the kernel keeps it
    value = bytes.fromhex("0100000280000000" + "00" * 12)
    os.setxattr(plain(name), "security.capability", value)

for mode in (0o4755, 0o2755, 0o6755):
    ways = {
        "chmod": lambda name: os.chmod(plain(name), mode),
        "fchmod": lambda name: by_descriptor(name, mode),
        "fchmodat": lambda name: by_folder(name, mode),
        "fchmodat2": lambda name: by_call(452, -100, plain(name).encode(), mode, 0),
        "open": lambda name: os.open(name, os.O_CREAT | os.O_WRONLY, mode),
        "nameless": lambda name: by_nameless(name, mode),
        "openat2": lambda name: by_struct(name, mode),
        "mknod": lambda name: os.mknod(name, mode | 0o100000),
        "attribute": by_attribute,
    }
    if x86:
        ways["creat"] = lambda name: by_call(85, name.encode(), mode)
    for way, leave in ways.items():
        try:
            leave(f"{way}-{mode:o}")
        except OSError:
            pass
print("tried")
"""


def set_ids(folder: Path) -> set[str]:
    bits = stat.S_ISUID | stat.S_ISGID
    return {each.name.partition("-")[0] for each in folder.iterdir() if each.stat().st_mode & bits}


@pytest.mark.parametrize("network", [False, True])
@attack("B15")
async def test_no_file_with_the_rights_of_its_owner_is_left_behind(den: Den, network: bool) -> None:
    """A copy of a program with mode 6755 in the workspace serves every user of the machine."""
    ended = await den.python(LEAVES, allow_network=network)
    assert ended.stdout == "tried\n", ended.stderr
    assert set_ids(den.workspace) == set()
    assert (den.workspace / "chmod-4755").exists()


async def test_the_same_program_leaves_them_where_nothing_confines_it(den: Den) -> None:
    await den.python(LEAVES, profile="none")
    assert set_ids(den.workspace) >= {"chmod", "fchmod", "open", "nameless", "openat2", "mknod"}
