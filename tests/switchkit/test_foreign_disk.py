"""A home on a disk of Windows, as WSL shows it: known by what is mounted, and not used.

No such disk is on the machines of these tests. What the kernel says is mounted is written by the
test, in lines that are composed and not recorded: no machine with Windows was at hand.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import switchboard
from support.mcp_stdio import Ended, RpcError, talking_to
from support.mounted import as_mounted, told_mounts
from support.workspace import Workspace
from switchkit.platform.linux import files

WINDOWS = (
    "9p C:\\134 rw,dirsync,aname=drvfs;path=C:\\;uid=1000;gid=1000,mmap,access=client,trans=fd",
    "9p drvfs rw,dirsync,aname=drvfs;path=D:\\;uid=0;gid=0,access=client,trans=fd,rfd=5,wfd=5",
    "virtiofs drvfsaC1 rw",
    "drvfs C: rw,noatime,uid=1000,gid=1000,case=off",
)
OURS = (
    "ext4 /dev/sdc rw,discard,errors=remount-ro,data=ordered",
    # A container, or a virtual machine, over whose disk modes and locks hold.
    "9p none rw,trans=fd,rfd=4,wfd=4,aname=/,dfltuid=4294967294,dfltgid=4294967294",
    "virtiofs shared rw",
    # The word alone says nothing: a person chose it.
    "9p my-drvfs-copy rw,trans=virtio,version=9p2000.L,aname=/srv/drvfs,access=client",
    "virtiofs my-drvfs-copy rw",
    "fuse.sshfs me@drvfs.test: rw,nosuid,nodev",
)


@pytest.mark.parametrize("what", [*WINDOWS, *OURS])
def test_a_disk_of_windows_is_known_by_its_kind(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PROC", str(told_mounts(tmp_path, what, tmp_path)))
    for path in (tmp_path, tmp_path / "not" / "there" / "yet"):
        assert files.foreign_disk(str(path)) == (what.split(" ", 1)[0] if what in WINDOWS else "")
    # Another disk of the same machine.
    assert files.foreign_disk("/proc") == ""


def test_on_this_machine_nothing_is_foreign(tmp_path: Path) -> None:
    assert files.foreign_disk(str(tmp_path)) == ""
    assert files.foreign_disk("relative/and/not/there") == ""


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace whose home lies on such a disk."""
    workspace = Workspace(tmp_path, daemon=True)
    workspace.echo_child()
    workspace.env = as_mounted(workspace.env, tmp_path, WINDOWS[0])
    yield workspace
    workspace.stop_daemon()


async def test_a_home_on_it_is_refused_with_what_to_type_instead(foreign: Workspace) -> None:
    found = switchboard(foreign, "doctor", "--json").report["findings"]
    [finding] = [each for each in found if "disk of Windows" in each["message"]]
    assert finding["severity"] == "error"
    assert "export SWITCHBOARD_HOME=/home/$USER/.switchboard" in finding["hint"]
    for words in (("add", "one", "--", "true"), ("list",), ("daemon", "start"), ("call", "x")):
        done = switchboard(foreign, *words)
        assert done.code, words
        assert "a disk of Windows (`9p`)" in done.err + done.out, words
        assert "SWITCHBOARD_HOME=/home/$USER" in done.err + done.out, words
    with pytest.raises((Ended, RpcError)):
        await _call(foreign)
    assert [*foreign.home.glob("run/*.sock")] == []
    assert not (foreign.home / "mcp.json").exists()


async def _call(workspace: Workspace) -> None:
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=20) as client:
        await client.initialize()
        await client.call_subtool("echo_suite", "echo", {"text": "hello"})
