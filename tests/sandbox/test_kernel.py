"""The kernel: calls that are refused, and what root could still do in a sandbox."""

import asyncio
import json
import os
import pty
import sys
from pathlib import Path

import pytest

from sandbox.den import Den
from support.processes import alive
from support.requirements import requirement

# Makes system calls by their numbers and tells how each ended.
CALLS = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
found = {}
for name, number, *args in json.loads(sys.argv[1]):
    ctypes.set_errno(0)
    result = libc.syscall(number, *(ctypes.c_long(each) for each in args))
    found[name] = ctypes.get_errno() if result == -1 else "done"
print(json.dumps(found))
"""
EPERM, ENOSYS = 1, 38
ON_X86 = os.uname().machine == "x86_64"


def _numbers() -> list[list[object]]:
    pick = 0 if ON_X86 else 1
    table: dict[str, tuple[int, int]] = {
        "ptrace": (101, 117),
        "process_vm_readv": (310, 270),
        "io_uring_setup": (425, 425),
        "keyctl": (250, 219),
        "add_key": (248, 217),
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "mount": (165, 40),
        "umount2": (166, 39),
        "pivot_root": (155, 41),
        "open_tree": (428, 428),
        "fsopen": (430, 430),
        "mount_setattr": (442, 442),
        "setns": (308, 268),
        "open_by_handle_at": (304, 265),
        "init_module": (175, 105),
        "kexec_load": (246, 104),
        "swapon": (167, 224),
        "acct": (163, 89),
        "syslog": (103, 116),
        "pidfd_getfd": (438, 438),
    }
    return [[name, numbers[pick], 0, 0, 0, 0, 0] for name, numbers in table.items()]


@requirement("S3.18")
@pytest.mark.parametrize("allow_network", [False, True])
async def test_dangerous_calls_are_refused(den: Den, allow_network: bool) -> None:
    said = (await den.python(CALLS, json.dumps(_numbers()), allow_network=allow_network)).said
    assert set(said.values()) == {EPERM}, said


async def test_no_namespace_can_be_made(den: Den) -> None:
    new_user, child_ends = 0x10000000, 17
    clone, unshare = (56, 272) if ON_X86 else (220, 97)
    asked = [
        ["unshare", unshare, new_user],
        ["clone", clone, new_user | child_ends, 0, 0, 0, 0],
        ["clone3", 435, 0, 0],
    ]
    said = (await den.python(CALLS, json.dumps(asked))).said
    assert said == {"unshare": EPERM, "clone": EPERM, "clone3": ENOSYS}


def core_pattern() -> str:
    return Path("/proc/sys/kernel/core_pattern").read_text()


async def test_what_the_kernel_runs_on_a_crash_cannot_be_changed(den: Den) -> None:
    """Root inside is root to sysctl, whatever its namespace: the worst of the traps."""
    before = core_pattern()
    # The value that is there: were it written, nothing would be different.
    program = """
import json
path = "/proc/sys/kernel/core_pattern"
try:
    open(path, "w").write(open(path).read())
    print(json.dumps("written"))
except OSError as error:
    print(json.dumps(error.errno))
"""
    assert (await den.python(program)).said != "written"
    assert core_pattern() == before


async def test_nothing_of_the_machine_can_be_opened_to_be_written(den: Den) -> None:
    """Root is root to many files of the kernel that ask for no capability."""
    program = """
import json, os
found = []
for top in ("/proc", "/sys", "/dev", "/etc"):
    for folder, folders, files in os.walk(top):
        if folder == "/proc":
            folders[:] = [each for each in folders if not each.isdigit() and "self" not in each]
        for path in (os.path.join(folder, each) for each in files):
            try:
                if not os.path.islink(path):
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    found.append(path)
            except OSError:
                pass
        try:
            os.close(os.open(folder + "/switchboard-test", os.O_CREAT | os.O_WRONLY))
            found.append(folder)
        except OSError:
            pass
print(json.dumps(found))
"""
    harmless = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")}
    # Its own memory, its own terminals, and an alarm for whoever waits.
    harmless |= {"/dev/shm", "/dev/pts/ptmx", "/dev/shm/switchboard-test"}
    harmless |= {f"/proc/pressure/{name}" for name in ("cpu", "io", "memory", "irq")}
    assert set((await den.python(program)).said) <= harmless


async def test_the_ground_cannot_be_made_writable_again(den: Den, tmp_path: Path) -> None:
    target = tmp_path / "outside"
    target.mkdir()
    program = """
import ctypes, sys
libc = ctypes.CDLL(None)
MS_REMOUNT, MS_BIND = 32, 4096
libc.mount(None, b"/", None, MS_REMOUNT | MS_BIND, None)
libc.umount2(sys.argv[1].encode(), 2)
open(sys.argv[2], "w").write("out")
"""
    ended = await den.python(program, str(den.workspace / ".git"), f"{target}/out")
    assert ended.status != 0
    assert not (target / "out").exists()


async def test_it_has_no_capability_and_cannot_gain_one(den: Den) -> None:
    program = "print(open('/proc/self/status').read())"
    status = (await den.python(program)).stdout
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {int(found[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {0}
    assert found["NoNewPrivs"] == "1"
    assert found["Seccomp"] == "2"


async def test_processes_of_the_host_are_neither_seen_nor_ended(den: Den) -> None:
    async with den.started(("sleep", "600"), profile="none") as victim:
        program = """
import json, os, signal, sys
victim = int(sys.argv[1])
try:
    os.kill(victim, signal.SIGKILL)
except OSError:
    pass
print(json.dumps([int(each) for each in os.listdir("/proc") if each.isdigit()]))
"""
        seen = (await den.python(program, str(victim.pid))).said
        assert alive(victim.pid)
    assert max(seen) < 10
    assert os.getpid() not in seen


async def test_it_cannot_type_into_the_terminal_of_its_user(den: Den) -> None:
    """The injected bytes would stand in the input of whoever reads the terminal next."""
    outer, inner = pty.openpty()
    program = """
import fcntl, os, termios
for path in ("/dev/tty", "/proc/self/fd/0", "/proc/self/fd/2"):
    try:
        terminal = os.open(path, os.O_RDWR)
    except OSError:
        continue
    for _ in range(10):
        for byte in b"evil":
            try:
                fcntl.ioctl(terminal, termios.TIOCSTI, bytes([byte]))
            except OSError:
                pass
"""
    # Whoever starts us has a terminal of its own, as a command line has.
    driver = f"""
import asyncio, fcntl, os, sys, termios
sys.path[:0] = {sys.path!r}
os.setsid()
fcntl.ioctl({inner}, termios.TIOCSCTTY, 0)
from pathlib import Path
from sandbox.den import Den
den = Den.__new__(Den)
from switchboard.sandbox.sandbox import Sandbox
root = Path(sys.argv[1])
den.workspace, den.home, den.state = root / "workspace", root / "home", root / "state"
den.sandbox = Sandbox()
asyncio.run(den.python({program!r}))
"""
    try:
        process = await _run_with(driver, str(den.workspace.parent), keep=inner)
        assert process == 0
        os.set_blocking(inner, False)
        with pytest.raises(BlockingIOError):
            os.read(inner, 100)
    finally:
        os.close(outer)
        os.close(inner)


async def test_it_cannot_type_into_a_terminal_of_its_own_either(den: Den) -> None:
    program = """
import fcntl, json, os, pty, termios
pid, terminal = pty.fork()
if pid == 0:
    try:
        fcntl.ioctl(0, termios.TIOCSTI, b"x")
        os._exit(0)
    except OSError as error:
        os._exit(error.errno)
print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
"""
    assert (await den.python(program)).said == EPERM
    # Without the filter it is allowed, or EIO where the kernel refuses it to everybody.
    assert (await den.python(program, profile="none")).said != EPERM


async def _run_with(program: str, *args: str, keep: int) -> int:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, *args), pass_fds=(keep,)
    )
    return await asyncio.wait_for(process.wait(), 60)


async def test_a_crash_leaves_no_file(den: Den) -> None:
    program = "import os, resource; print(resource.getrlimit(resource.RLIMIT_CORE)); os.abort()"
    ended = await den.python(program)
    assert ended.status != 0
    assert "(0, 0)" in ended.stdout or not ended.stdout
    assert not list(den.workspace.glob("core*"))


async def test_its_limits_are_lower_than_ours(den: Den) -> None:
    program = """
import json, resource
names = ("RLIMIT_CORE", "RLIMIT_NOFILE", "RLIMIT_FSIZE")
print(json.dumps({name: resource.getrlimit(getattr(resource, name)) for name in names}))
"""
    said = (await den.python(program)).said
    assert said["RLIMIT_CORE"] == [0, 0]
    assert said["RLIMIT_NOFILE"][1] <= 65_536
    assert said["RLIMIT_FSIZE"] == [4 << 30, 4 << 30]


async def test_temporary_folders_cannot_fill_the_memory(den: Den) -> None:
    program = """
import json, os
found = {path: os.statvfs(path) for path in ("/tmp", "/run", "/dev/shm")}
print(json.dumps({path: each.f_blocks * each.f_frsize for path, each in found.items()}))
"""
    said = (await den.python(program)).said
    assert said == {"/tmp": 256 << 20, "/run": 1 << 20, "/dev/shm": 256 << 20}
