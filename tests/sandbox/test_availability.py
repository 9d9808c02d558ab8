"""No sandbox that works means no start: nothing runs without, and the reason is told."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.den import PATH, Den
from support.requirements import attack, requirement
from switchboard.core.faults import Fault, FaultCode
from switchboard.sandbox.probe import FOLDERS, Bubblewrap, Probe, System, Unusable
from switchboard.sandbox.sandbox import Sandbox

REAL = 'exec /usr/bin/bwrap "$@"'
# What it was told to run stands behind the last `--`.
EXECUTES = """
[ "$1" = --version ] && echo bubblewrap 0.11.0 && exit
while [ "$1" != -- ]; do shift; done
shift
"""


def fake(folder: Path, script: str, *, mode: int = 0o755) -> str:
    """A program by the name of bubblewrap, in a folder of its own; gives the folder."""
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(mode)
    return str(folder)


@requirement("S3.121")
def test_this_machine_has_one_that_works() -> None:
    found = Probe().look()
    assert isinstance(found, Bubblewrap), found
    assert Path(found.path).parent.as_posix() in FOLDERS


def test_one_that_was_tried_is_not_tried_again(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    folder = fake(tmp_path / "bin", f"echo x >> {trace}; {REAL}")
    probe = Probe(owner=os.getuid(), folders=(folder,))
    assert probe.look() == probe.look()
    # It tells its version, and is tried.
    assert trace.read_text() == "x\nx\n"
    # Another file under the same name is another program.
    program = Path(folder) / "bwrap"
    program.unlink()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert isinstance(probe.look(), Unusable)


def test_one_that_failed_is_tried_again_after_a_while(tmp_path: Path) -> None:
    now = 0.0
    state = tmp_path / "state"
    folder = fake(tmp_path / "bin", f"[ -e {state} ] && {REAL}")
    probe = Probe(owner=os.getuid(), folders=(folder,), clock=lambda: now)
    assert isinstance(probe.look(), Unusable)
    state.touch()
    assert isinstance(probe.look(), Unusable)
    now = 11.0
    assert isinstance(probe.look(), Bubblewrap)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions"),
        ('[ "$1" = --version ] && echo bubblewrap 0.4.0 || exit 1', "0.4.0 is too old"),
        ("exec sleep 30", "did not end within 1 s"),
        ("exit 0", "cannot make a sandbox"),
        # Too old, though it does what it is told.
        (f'[ "$1" = --version ] && echo bubblewrap 0.7.9 || {REAL}', "0.7.9 is too old"),
        # They run what they are told to run, and confine nothing, or not all of it.
        (f'{EXECUTES}exec "$@"', "a program inside reads what is hidden"),
        (f'{EXECUTES}exec unshare -rm "$@"', "does not confine what it runs"),
        (f'{EXECUTES}exec "$@" 2>/dev/null | grep -v "^[0-9a-f]*net"', "no `mnt` namespace"),
        (f"{EXECUTES}exec bwrap --dev-bind / / --unshare-all --share-net -- sh -c 'exit 0'", "mnt"),
    ],
)
@attack("B27")
def test_one_that_does_not_work_is_refused_with_a_way_out(
    tmp_path: Path, script: str, why: str
) -> None:
    folder = fake(tmp_path / "bin", script)
    found = Probe(
        owner=os.getuid(), folders=(folder,), limit_s=1 if "sleep" in script else 5
    ).look()
    assert isinstance(found, Unusable)
    assert why in found.why
    assert found.fix


@pytest.mark.parametrize(
    ("name", "value", "command"),
    [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "userns=0"),
        ("user.max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    ],
)
def test_the_setting_that_forbids_it_is_named_with_the_one_command(
    tmp_path: Path, name: str, value: str, command: str
) -> None:
    """As Ubuntu has it since 23.10."""
    script = """[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit
echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"""
    folder = fake(tmp_path / "bin", script)
    settings = {name: value}
    probe = Probe(
        owner=os.getuid(), folders=(folder,), setting=lambda asked: settings.get(asked, "")
    )
    found = probe.look()
    assert isinstance(found, Unusable)
    assert "setting up uid map" in found.why
    assert f"`{name} = {value}`" in found.why
    assert f"sudo sysctl -w {name.rpartition('.')[0]}" in found.fix
    assert command in found.fix
    # What opens it to every program of the machine comes last.
    assert found.fix.startswith("allow it to bubblewrap alone") == ("apparmor" in name)


def test_a_kernel_that_allows_no_user_namespaces_is_told() -> None:
    """In one whose own limit is none, as a hardened machine or container has it."""
    script = (
        "import os\nfrom switchboard.sandbox.probe import Probe\n"
        "print(Probe(owner=os.stat('/usr/bin/bwrap').st_uid).look())\n"
    )
    none = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
    hardened = ("unshare", "--user", "--map-root-user", "sh", "-c", none, "sh")
    done = subprocess.run(
        [*hardened, sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith("Unusable(")
    assert "`user.max_user_namespaces = 0`" in done.stdout


def test_a_kernel_that_does_not_tell_our_own_namespaces_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hidden(path: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    probe = Probe()
    assert isinstance(probe.look(), Bubblewrap)
    monkeypatch.setattr(os, "readlink", hidden)
    found = Probe().look()
    assert isinstance(found, Unusable)
    assert "does not tell our own" in found.why


def test_one_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    folder = fake(tmp_path / "bin", "echo bubblewrap 0.9.0", mode=0o777)
    assert stat.S_IMODE((Path(folder) / "bwrap").stat().st_mode) == 0o777
    found = Probe(owner=os.getuid(), folders=(folder,)).look()
    assert isinstance(found, Unusable)
    assert "others may write it" in found.why


@pytest.mark.parametrize(
    ("system", "why"),
    [
        (System(name="Darwin", machine="arm64", release="24"), "Linux only"),
        (System(name="Linux", machine="riscv64", release="6"), "riscv64"),
        (System(name="Linux", machine="x86_64", release="4.4.0-19041-Microsoft"), "WSL 1"),
    ],
)
def test_systems_without_what_it_takes_are_refused(system: System, why: str) -> None:
    found = Probe(system=system).look()
    assert isinstance(found, Unusable)
    assert why in found.why


@requirement("S3.96", "S3.98")
async def test_nothing_runs_where_there_is_no_sandbox(den: Den, tmp_path: Path) -> None:
    den.sandbox = Sandbox(Probe(folders=(str(tmp_path / "nothing"),)))
    with pytest.raises(Fault) as caught:
        await den.run(("touch", str(den.workspace / "ran")))
    assert caught.value.code is FaultCode.PERMISSION_DENIED
    assert caught.value.reason == "sandbox-unavailable"
    assert "apt-get install bubblewrap" in caught.value.hint
    assert not (den.workspace / "ran").exists()


@requirement("S3.38")
async def test_the_sandbox_of_another_platform_is_refused(den: Den) -> None:
    with pytest.raises(Fault) as caught:
        await den.run(("touch", str(den.workspace / "ran")), profile="seatbelt")
    assert caught.value.reason == "sandbox-unavailable"
    assert "macOS" in caught.value.message
    assert not (den.workspace / "ran").exists()
    assert Sandbox().refusal("seatbelt") is not None


@requirement("S3.38", "S3.40", "S3.98")
async def test_none_is_no_sandbox(den: Den) -> None:
    await den.run(("touch", str(den.home / "ran")), profile="none")
    assert (den.home / "ran").exists()
    assert Sandbox(Probe(folders=())).refusal("none") is None


@requirement("S3.39", "S3.96")
async def test_a_confinement_that_says_nothing_is_the_default_without_network(den: Den) -> None:
    confinement = den.confinement()
    assert confinement.profile == "default"
    assert not confinement.allow_network
    assert not confinement.read_env_files


async def test_a_script_named_like_bubblewrap_is_never_run(
    den: Den, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder where it runs and where we are, and first on every search path."""
    trace = den.home / "trace"
    for folder in (den.workspace, den.workspace / "bin"):
        folder.mkdir(exist_ok=True)
        program = folder / "bwrap"
        program.write_text(f"#!/bin/sh\ntouch {trace}\n")
        program.chmod(0o755)
    path = f"{den.workspace}/bin:.:{PATH}"
    monkeypatch.chdir(den.workspace)
    monkeypatch.setenv("PATH", path)
    ended = await den.run(("/bin/echo", "hello"), env={"PATH": path}, path=path)
    assert ended.stdout == "hello\n"
    assert not trace.exists()
