"""The sandbox of macOS: a profile for `sandbox-exec`.

Every path is a parameter: none becomes part of the profile's text, where it could be code. The
generated text is tested on any system; that a Mac obeys it is not, until one runs the tests.
"""

import os
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from switchboard.procs.outlet import Outlet
from switchboard.procs.trial import Trial, trial
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.masks import MAC_SHARED
from switchboard.sandbox.paths import depth, is_below
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.probe import Unusable
from switchboard.sandbox.repositories import PathGuard, guards, hidden_files, way
from switchboard.sandbox.roots import Roots, checked_roots
from switchboard.sandbox.walls.scratch import Scratch
from switchkit.commands import resolved_command

# By its full path, so that no search path leads to another one.
PROGRAM = "/usr/bin/sandbox-exec"

# By name, because `kern.procargs2` tells the environment of every process of the user.
_SYSCTLS = (
    *("hw.activecpu", "hw.byteorder", "hw.cpufamily", "hw.cpusubtype", "hw.cputype"),
    *("hw.cachelinesize", "hw.cachelinesize_compat", "hw.l1dcachesize_compat"),
    *("hw.logicalcpu", "hw.logicalcpu_max", "hw.machine", "hw.memsize", "hw.model", "hw.ncpu"),
    *("hw.nperflevels", "hw.packages", "hw.pagesize", "hw.pagesize_compat"),
    *("hw.physicalcpu", "hw.physicalcpu_max", "hw.tbfrequency", "hw.tbfrequency_compat"),
    *("kern.argmax", "kern.hostname", "kern.maxfilesperproc", "kern.ngroups"),
    *("kern.osproductversion", "kern.osrelease", "kern.ostype", "kern.osversion"),
    *("kern.secure_kernel", "kern.usrstack64", "kern.version", "sysctl.proc_cputype"),
    *("vm.loadavg",),
)
_SYSCTL_FAMILIES = ("hw.optional.", "hw.perflevel", "machdep.cpu.")


def _sysctls() -> str:
    names = [f'  (sysctl-name "{name}")' for name in _SYSCTLS]
    families = [f'  (sysctl-name-prefix "{name}")' for name in _SYSCTL_FAMILIES]
    return "(allow sysctl-read\n" + "\n".join((*names, *families)) + ")"


_NOTHING = "(version 1)(allow default)"
# What `sandbox-exec` ends with when it cannot set a sandbox up.
_NOT_SET_UP = 71
_TRY_S = 5.0

# Secrets of the machine that a folder above them does not open, and what everybody reads there.
_DB_FOLDER = "/private/var/db"
# Programs that a user installs without being root keep what they hold as that user: databases.
_DATA = ("/opt/homebrew/var", "/usr/local/var", "/opt/local/var")
_CLOSED = ("/Library/Keychains", _DB_FOLDER, "/private/var/root", *_DATA)
_DB = """\
(allow file-read*
  (subpath "/private/var/db/timezone")
  (subpath "/private/var/db/dyld"))"""

# A terminal belongs to its user: whoever opens it reads what is typed there.
_DEVICES = """\
(allow file-read*
  (literal "/dev")
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/autofs_nowait")
  (literal "/dev/dtracehelper")
  (literal "/dev/stdin")
  (literal "/dev/stdout")
  (literal "/dev/stderr")
  (subpath "/dev/fd"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero"))"""

_GROUND = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
SYSCTLS
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.notification_center"))
(allow ipc-posix-sem)
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random"))
(allow file-read*)
(deny file-read* file-write*
  (subpath "/private/tmp")
  (subpath "/private/var/tmp")
  (subpath "/private/var/folders")
  (subpath "/private/var/db")
  (subpath "/private/var/root")
  (subpath "/Library/Keychains")
  (subpath "/Volumes")
  (subpath "/opt/homebrew/var")
  (subpath "/usr/local/var")
  (subpath "/opt/local/var")
  (subpath "/dev"))""".replace("SYSCTLS", _sysctls())

# Names are looked up by a socket of the system: no other one is opened. Who checks certificates for
# others fetches what these name, from anywhere, so it is for those alone who reach everything.
_NETWORK = """\
(allow network*)
(allow system-socket)
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))
(allow mach-lookup (global-name "com.apple.dnssd.service"))
(allow mach-lookup (global-name "com.apple.trustd.agent"))
(deny network* (remote unix-socket))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))"""

# Our proxy and nothing else: no names, no datagrams, no port of its own to listen on.
_PROXY = '(allow network-outbound (remote tcp "localhost:{port:d}"))'


class Profile:
    """A profile under construction: rules, and the paths that they name."""

    def __init__(self) -> None:
        self._rules = [_GROUND, _DB, _DEVICES]
        self.parameters: dict[str, str] = {}

    def rule(self, verb: str, operations: str, filter_: str, kind: str, path: str) -> None:
        """Add a rule for one path."""
        name = self._name(kind, path)
        self._rules.append(f'({verb} {operations} ({filter_} (param "{name}")))')

    def add(self, text: str) -> None:
        """Add rules that name no path."""
        self._rules.append(text)

    def _name(self, kind: str, path: str) -> str:
        for name, known in self.parameters.items():
            if known == path and name.startswith(f"{kind}_"):
                return name
        count = sum(name.startswith(f"{kind}_") for name in self.parameters)
        name = f"{kind}_{count}"
        self.parameters[name] = path
        return name

    @property
    def text(self) -> str:
        """The whole profile."""
        return "\n".join(self._rules) + "\n"


def seatbelt_profile(
    roots: Roots, confinement: SandboxPolicy, *, shown: str = "", proxy_port: int = 0
) -> Profile:
    """The profile of a confinement. Of two rules that fit, the later one decides.

    `shown` is a folder that is read and not changed, wherever it lies; with a `proxy_port` that
    port of this machine is all of the network.
    """
    profile = Profile()
    for path in roots.homes:
        profile.rule("deny", "file-read* file-write*", "subpath", "HOME", path)
    for path in roots.hidden:
        profile.rule("deny", "file-read* file-write*", "subpath", "HIDDEN", path)
    opened = [path for _, path in roots.readable]
    inside = (*opened, *roots.writable, *roots.caches, *roots.unchanging)
    for path in _ways(inside, (*roots.homes, *MAC_SHARED, *_DATA)):
        # To enter a folder one has to see that the folders above it are there.
        profile.rule("allow", "file-read-metadata", "literal", "WAY", path)
    for path in sorted(opened, key=depth):
        profile.rule("allow", "file-read*", "subpath", "READ", path)
        _close_below(profile, path, roots.hidden)
    for path in roots.unchanging:
        profile.rule("allow", "file-read*", "subpath", "READ", path)
        _close_below(profile, path, roots.hidden)
        for each in hidden_files(path, read_env_files=confinement.read_env_files):
            profile.rule("deny", "file-read*", "literal", "HIDDEN", each)
    for path in (*roots.caches, *roots.writable):
        profile.rule("allow", "file-read* file-write*", "subpath", "WRITE", path)
        _close_below(profile, path, roots.hidden)
        # A root that is renamed away takes its protection along.
        profile.rule("deny", "file-write-unlink", "literal", "WRITE", path)
        is_cache = path in roots.caches
        found = [] if is_cache else guards(path, read_env_files=confinement.read_env_files)
        for guard in found:
            _guard(profile, guard, path)
    if shown:
        profile.rule("allow", "file-read*", "subpath", "SHOWN", shown)
        profile.rule("deny", "file-write*", "subpath", "SHOWN", shown)
    _open_network(profile, confinement, proxy_port)
    return profile


def _open_network(profile: Profile, confinement: SandboxPolicy, proxy_port: int) -> None:
    if proxy_port:
        profile.add(_PROXY.format(port=proxy_port))
    elif confinement.allow_network:
        profile.add(_NETWORK)


def _close_below(profile: Profile, opened: str, hidden: Iterable[str]) -> None:
    """Close what stays hidden in a folder that was just opened.

    What is opened in it comes later, and decides.
    """
    closed = [path for path in dict.fromkeys((*hidden, *_CLOSED)) if is_below(path, opened)]
    for path in closed:
        profile.rule("deny", "file-read* file-write*", "subpath", "HIDDEN", path)
    if _DB_FOLDER in closed:
        profile.add(_DB)


def _guard(profile: Profile, guard: PathGuard, root: str) -> None:
    kind = guard.kind.upper()
    if guard.kind == "hidden":
        profile.rule("deny", "file-read* file-write*", "literal", kind, guard.path)
        # A rule is for a name: whoever renames a folder above it gets around the rule.
        for folder in way(root, os.path.dirname(guard.path)):
            profile.rule("deny", "file-write-unlink", "literal", "PINNED", folder)
    elif guard.kind == "protected":
        profile.rule("deny", "file-write*", "subpath", kind, guard.path)
    profile.rule("deny", "file-write-unlink", "literal", kind, guard.path)


def wrapped_in_seatbelt(
    argv: tuple[str, ...],
    confinement: SandboxPolicy,
    env: Mapping[str, str],
    outlet: Outlet | None = None,
) -> Wrapped:
    """The command line that runs a program in a sandbox. Raises a fault or OSError."""
    command = resolved_command(argv[0], cwd=confinement.cwd, path=confinement.path)
    roots = checked_roots(confinement, command, emptied=MAC_SHARED)
    scratch = Scratch()
    try:
        opened = replace(roots, writable=(*roots.writable, scratch.path))
        shown = {} if outlet is None else scratch.show(outlet.files)
        profile = seatbelt_profile(
            opened,
            confinement,
            shown=scratch.shown if shown else "",
            proxy_port=0 if outlet is None else outlet.port,
        )
    except BaseException:
        scratch.close()
        raise
    given = (f"-D{name}={path}" for name, path in profile.parameters.items())
    # The loader of macOS ignores its variables for programs of the system, and this is one.
    return Wrapped(
        argv=(PROGRAM, "-p", profile.text, *given, "--", command, *argv[1:]),
        env={
            **{name: shown.get(value, value) for name, value in env.items()},
            **scratch.variables,
        },
        cwd=roots.cwd,
        gate=scratch,
    )


def look_at_seatbelt(run: "Callable[..., Trial]" = trial) -> Unusable | None:
    """Why no sandbox can be set up here; None if one can. Tries it, which blocks for a moment."""
    try:
        tried = run((PROGRAM, "-p", _NOTHING, "/usr/bin/true"), timeout_s=_TRY_S)
    except OSError:
        return Unusable(
            why=f"`{PROGRAM}` is missing", fix="it is a part of macOS: update the system"
        )
    if tried.status == 0:
        return None
    if tried.status == _NOT_SET_UP:
        return Unusable(
            why="this process is itself in a sandbox of macOS, and a second one inside is refused",
            fix="start Switchboard's daemon outside of it: `switchboard daemon start` in a "
            "terminal of your own",
        )
    said = tried.stderr.strip().splitlines()[-1:] or ["it took too long"]
    return Unusable(why=f"`{PROGRAM}` does not work: {said[0]}", fix="switchboard doctor")


def _ways(paths: Iterable[str], homes: tuple[str, ...]) -> list[str]:
    """The folders inside a home that lead to what is opened in it."""
    found: dict[str, None] = {}
    for path in paths:
        for home in homes:
            above = os.path.dirname(path)
            while is_below(path, home) and is_below(above, os.path.dirname(home)):
                found[above] = None
                above = os.path.dirname(above)
    return sorted(found)
