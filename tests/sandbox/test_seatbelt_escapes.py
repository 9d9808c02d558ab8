"""What a server in the sandbox of macOS must not reach, judged by a reader of profiles of our own.

That a Mac decides as this reader does is not shown: none runs these tests.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from sandbox.den import Den
from sandbox.seatbelt_rules import Rules
from support.requirements import attack
from switchboard.procs.outlet import Outlet
from switchboard.procs.trial import Trial
from switchboard.sandbox import denial as denials
from switchboard.sandbox import masks, seatbelt
from switchboard.sandbox import roots as rooms
from switchboard.sandbox.denial import denial
from switchboard.sandbox.probe import Unusable
from switchboard.sandbox.roots import Roots, checked_roots
from switchboard.sandbox.sandbox import Sandbox
from switchboard.sandbox.seatbelt import (
    PROGRAM,
    look_at_seatbelt,
    seatbelt_profile,
    wrapped_in_seatbelt,
)

# The operation, whom it is about, and by what that is known.
ESCAPES = (
    # The environment of every other process of the user, and the table of them.
    ("sysctl-read", "kern.procargs2", "sysctl"),
    ("sysctl-read", "kern.proc.all", "sysctl"),
    ("sysctl-read", "kern.proc.pid.1", "sysctl"),
    ("sysctl-write", "kern.hostname", "sysctl"),
    ("process-info-pidinfo", "others", "target"),
    ("signal", "others", "target"),
    # Secrets that the system keeps, by its service and by its files.
    ("mach-lookup", "com.apple.SecurityServer", "global"),
    ("mach-lookup", "com.apple.securityd.xpc", "global"),
    ("file-read-data", "/Library/Keychains/System.keychain", "path"),
    ("file-read-data", "/private/var/db/SystemKey", "path"),
    # Programs that would run something outside.
    ("mach-lookup", "com.apple.coreservices.launchservicesd", "global"),
    ("mach-lookup", "com.apple.pasteboard.1", "global"),
    # Services that reach the network for others: names, and what certificates name.
    ("mach-lookup", "com.apple.trustd.agent", "global"),
    ("mach-lookup", "com.apple.dnssd.service", "global"),
    ("mach-lookup", "com.apple.SystemConfiguration.configd", "global"),
    ("network-outbound", "/private/var/run/mDNSResponder", "socket"),
    ("appleevent-send", "", "path"),
    ("iokit-open", "", "path"),
    # Temporary files of others, and other disks.
    ("file-read-data", "/private/tmp/of-another", "path"),
    ("file-write-create", "/private/tmp/new", "path"),
    ("file-read-data", "/private/var/folders/zz/T/of-another", "path"),
    ("file-write-create", "/private/var/folders/zz/T/new", "path"),
    ("file-read-data", "/Volumes/Backup/secret", "path"),
    # What is typed into other terminals, and what other programs of the user keep.
    ("file-read-data", "/dev/ttys003", "path"),
    ("file-read-data", "/dev/tty", "path"),
    ("file-write-data", "/dev/ttys003", "path"),
    ("file-read-data", "/dev/cu.usbmodem1", "path"),
    ("file-read-data", "/opt/homebrew/var/postgresql@17/base/1/1259", "path"),
    ("file-read-data", "/usr/local/var/mysql/app/users.ibd", "path"),
    # The machine.
    ("file-write-create", "/usr/local/bin/git", "path"),
    ("file-write-create", "/Library/LaunchDaemons/x.plist", "path"),
    ("network-outbound", "unix-socket", "remote"),
    ("network-outbound", "ip", "remote"),
    ("network-bind", "ip", "remote"),
    ("network-outbound", "1.1.1.1:443", "tcp"),
    ("network-outbound", "127.0.0.1:3129", "tcp"),
    ("network-outbound", "[::1]:3129", "tcp"),
    ("network-outbound", "1.1.1.1:3128", "tcp"),
    ("network-outbound", "127.0.0.1:3128", "udp"),
    ("network-outbound", "1.1.1.1:53", "udp"),
    ("network-bind", "127.0.0.1:3128", "tcp"),
    ("network-inbound", "127.0.0.1:3128", "tcp"),
    ("system-socket", "", "path"),
)
PROXY_PORT = 3128


def rules_of(den: Den, **more: Any) -> Rules:
    confinement = den.confinement(**more)
    profile = seatbelt_profile(checked_roots(confinement, "/bin/sh"), confinement)
    return Rules(profile.text, profile.parameters)


@attack("T94")
@pytest.mark.parametrize("proxy_port", [0, PROXY_PORT])
@pytest.mark.parametrize(("operation", "subject", "kind"), ESCAPES)
def test_no_escape_is_allowed(
    den: Den, operation: str, subject: str, kind: str, proxy_port: int
) -> None:
    """Nor where one port leads to the chosen hosts."""
    confinement = den.confinement()
    roots = checked_roots(confinement, "/bin/sh")
    profile = seatbelt_profile(roots, confinement, proxy_port=proxy_port)
    assert not Rules(profile.text, profile.parameters).allows(operation, subject, kind)


def test_of_the_network_one_port_is_open_that_of_the_proxy(den: Den) -> None:
    confinement = den.confinement()
    roots = checked_roots(confinement, "/bin/sh")
    profile = seatbelt_profile(roots, confinement, proxy_port=PROXY_PORT)
    rules = Rules(profile.text, profile.parameters)
    to_proxy = ("network-outbound", f"127.0.0.1:{PROXY_PORT}", "tcp")
    assert rules.allows(*to_proxy)
    assert not rules_of(den).allows(*to_proxy)
    near = (PROXY_PORT - 1, PROXY_PORT, PROXY_PORT + 1)
    ports = [f"127.0.0.1:{port}" for port in (*range(1, 65_536, 211), *near)]
    assert [port for port in ports if rules.allows("network-outbound", port, "tcp")] == [
        f"127.0.0.1:{PROXY_PORT}"
    ]


def test_what_the_proxy_shows_is_read_and_not_changed(den: Den) -> None:
    """Also not by its folder: it lies in the temporary folder, which can be written."""
    outlet = Outlet(
        handover=None,
        port=PROXY_PORT,
        files={"/run/ours.pem": b"a certificate"},
        refused=lambda: None,
    )
    given = {"SSL_CERT_FILE": "/run/ours.pem", "A": "1"}
    wrapped = wrapped_in_seatbelt(("/bin/sh", "-c", "true"), den.confinement(), given, outlet)
    try:
        own, shown = wrapped.env["TMPDIR"], wrapped.env["SSL_CERT_FILE"]
        assert wrapped.env["A"] == "1"
        assert Path(shown).read_bytes() == b"a certificate"
        parameters = dict(word[2:].split("=", 1) for word in wrapped.argv if word.startswith("-D"))
        rules = Rules(wrapped.argv[2], parameters)
        assert rules.allows("file-read-data", shown)
        assert rules.allows("file-write-create", f"{own}/x")
        around = str(Path(shown).parent)
        for path in (shown, around, f"{around}/new"):
            for operation in ("file-write-data", "file-write-unlink", "file-write-create"):
                assert not rules.allows(operation, path)
        assert not rules.allows("file-write-unlink", own)
    finally:
        wrapped.close()
    assert not Path(own).exists()


def test_the_home_is_closed_but_for_what_is_opened(den: Den) -> None:
    (den.workspace / ".env").touch()
    rules = rules_of(den)
    home, work = os.path.realpath(den.home), os.path.realpath(den.workspace)
    for path in (".ssh/id_ed25519", "Library/Keychains/login.keychain-db", ".zshrc"):
        assert not rules.allows("file-read-data", f"{home}/{path}")
        assert not rules.allows("file-write-create", f"{home}/{path}")
    assert rules.allows("file-read-data", f"{work}/code.py")
    assert rules.allows("file-write-create", f"{work}/code.py")
    assert not rules.allows("file-read-data", f"{work}/.env")


def test_what_programs_need_is_allowed(den: Den) -> None:
    rules = rules_of(den)
    assert rules.allows("process-exec")
    assert rules.allows("process-fork")
    assert rules.allows("sysctl-read", "hw.ncpu", "sysctl")
    assert rules.allows("sysctl-read", "hw.optional.arm.FEAT_CRC32", "sysctl")
    assert rules.allows("file-read-data", "/usr/lib/libSystem.B.dylib")
    assert rules.allows("file-read-data", "/private/var/db/timezone/zoneinfo/UTC")
    assert rules.allows("file-write-data", "/dev/null")
    for device in ("null", "zero", "random", "urandom", "stdin", "fd/0"):
        assert rules.allows("file-read-data", f"/dev/{device}")
    assert rules.allows("file-read-data", "/opt/homebrew/opt/node/bin/node")
    assert rules.allows("signal", "same-sandbox", "target")


@attack("T94")
def test_what_other_programs_keep_stays_closed_where_their_folder_is_opened(den: Den) -> None:
    roots = Roots(
        cwd=str(den.workspace), homes=(), readable=(("/opt", "/opt"),), writable=(), hidden=()
    )
    profile = seatbelt_profile(roots, den.confinement())
    rules = Rules(profile.text, profile.parameters)
    assert rules.allows("file-read-data", "/opt/homebrew/etc/my.cnf")
    assert not rules.allows("file-read-data", "/opt/homebrew/var/mysql/app/users.ibd")


@attack("T94")
def test_no_file_gets_a_second_name(den: Den) -> None:
    """By which it could be written past the guard of its first one."""
    den.repository()
    rules = rules_of(den)
    for path in (den.workspace / ".git" / "config", den.workspace / "any", den.state / "any"):
        assert not rules.allows("file-link", str(path))


def test_with_a_network_the_sockets_of_the_machine_stay_closed(den: Den) -> None:
    rules = rules_of(den, allow_network=True)
    assert rules.allows("network-outbound", "ip", "remote")
    assert not rules.allows("network-outbound", "unix-socket", "remote")
    assert not rules.allows("network-outbound", "/private/var/run/docker.sock", "socket")
    # Where programs ask for the addresses of names.
    names = ("network-outbound", "/private/var/run/mDNSResponder", "socket")
    assert rules.allows(*names)
    assert not rules_of(den).allows(*names)
    assert not rules.allows("sysctl-read", "kern.procargs2", "sysctl")
    # Certificates are checked by a service that goes to the network itself.
    assert rules.allows("mach-lookup", "com.apple.trustd.agent", "global")


def test_a_folder_that_is_opened_leaves_closed_what_is_hidden_in_it(den: Den) -> None:
    own = den.home / "tools" / "own"
    state = own / "state"
    state.mkdir(parents=True)
    home, confinement = str(den.home), den.confinement(state_dir=str(state))
    roots = Roots(
        cwd=str(den.workspace),
        homes=(home,),
        hidden=("/private/etc/ssh", str(own)),
        readable=tuple((each, each) for each in (f"{home}/tools", "/Library", "/private")),
        writable=(str(den.workspace), str(state)),
    )
    profile = seatbelt_profile(roots, confinement)
    rules = Rules(profile.text, profile.parameters)
    closed = (f"{own}/vault", "/private/etc/ssh/key", "/private/var/db/SystemKey")
    for path in (*closed, "/Library/Keychains/System.keychain", "/private/var/root/x"):
        assert not rules.allows("file-read-data", path)
    opened = (f"{home}/tools/x", "/Library/Fonts/x", "/private/etc/hosts", f"{state}/x")
    for path in (*opened, "/private/var/db/timezone/zoneinfo/UTC"):
        assert rules.allows("file-read-data", path)
    assert rules.allows("file-write-create", f"{state}/x")


def test_a_program_has_a_temporary_folder_of_its_own(den: Den) -> None:
    wrapped = wrapped_in_seatbelt(("/bin/sh", "-c", "true"), den.confinement(), {"A": "1"})
    try:
        own = wrapped.env["TMPDIR"]
        assert wrapped.env == {"A": "1", "TMPDIR": own, "TMP": own, "TEMP": own}
        assert Path(own).stat().st_mode & 0o777 == 0o700
        given = dict(word[2:].split("=", 1) for word in wrapped.argv if word.startswith("-D"))
        rules = Rules(wrapped.argv[2], given)
        assert rules.allows("file-write-create", f"{own}/x")
        assert rules.allows("file-read-data", f"{own}/x")
        vigil = wrapped.release(os.getpid())
        assert vigil is not None
        vigil.close()
        assert not Path(own).exists()
    finally:
        wrapped.close()


def test_what_lies_on_another_disk_runs_and_is_told_with_the_key_that_opens_it(
    den: Den, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Path(os.path.realpath(tmp_path)) / "Volumes"
    program = disk / "Data" / "tools" / "bin" / "run"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (disk / "Data" / "notes").touch()
    for module in (seatbelt, denials):
        monkeypatch.setattr(module, "MAC_SHARED", (str(disk),))
    # Here the folder of this test lies in it.
    for module in (rooms, denials):
        monkeypatch.setattr(module, "SCRATCH", {})
    secret = disk.parent / "secret"
    secret.mkdir()
    monkeypatch.setattr(masks, "MACHINE_SECRETS", (str(secret),))
    wrapped = wrapped_in_seatbelt((str(program),), den.confinement(), {})
    wrapped.close()
    given = dict(word[2:].split("=", 1) for word in wrapped.argv if word.startswith("-D"))
    rules = Rules(wrapped.argv[2], given)
    # By a rule of its own: without one it would be closed with the disk.
    opened = {path for name, path in given.items() if name.startswith("READ_")}
    assert not opened.isdisjoint({str(program.parent), str(program.parent.parent)})
    assert rules.allows("file-read-data", str(program))
    # For root, too: nothing of the machine is left out of what shows.
    assert not rules.allows("file-read-data", f"{secret}/key")
    for path, knob in (("notes", "read_roots"), ("new", "writable_roots")):
        line = f"cat: {disk}/Data/{path}: Operation not permitted"
        fault = denial(1, line, den.confinement(), by_seatbelt=True)
        assert fault is not None
        assert fault.details["knob"] == knob


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (Trial(status=0), ""),
        (Trial(status=71, stderr="sandbox_apply: Operation not permitted"), "itself in a sandbox"),
        (Trial(status=1, stderr="no such profile"), "no such profile"),
        (Trial(status=None), "too long"),
    ],
)
def test_a_sandbox_is_tried_before_it_is_promised(trial: Trial, why: str) -> None:
    asked: list[tuple[str, ...]] = []

    def run(argv: tuple[str, ...], *, timeout_s: float) -> Trial:
        asked.append(argv)
        assert timeout_s < 60
        return trial

    found = look_at_seatbelt(run)
    assert asked[0][0] == PROGRAM
    assert (why in found.why) if found is not None else not why
    told = Sandbox(system="Darwin", seatbelt=found or "seatbelt").look()
    assert told == (found or "seatbelt")


def test_without_the_program_there_is_no_sandbox() -> None:
    """This machine is no Mac."""
    told = Sandbox(system="Darwin").look()
    assert isinstance(told, Unusable)
    assert "is missing" in told.why


@pytest.mark.parametrize(
    ("line", "knob"),
    [
        ("touch: /opt/data/x: Operation not permitted", "writable_roots"),
        ("PermissionError: [Errno 1] Operation not permitted: 'HOME/.netrc'", "read_roots"),
        ("Error: EPERM: operation not permitted, open 'WORK/.env'", "read_env_files"),
        ("curl: (6) nodename nor servname provided, or not known", "allow_network"),
    ],
)
def test_a_refusal_is_told_with_the_key_that_opens_it(den: Den, line: str, knob: str) -> None:
    said = line.replace("HOME", str(den.home)).replace("WORK", str(den.workspace))
    fault = denial(1, said, den.confinement(), by_seatbelt=True)
    assert fault is not None
    assert fault.details["knob"] == knob
