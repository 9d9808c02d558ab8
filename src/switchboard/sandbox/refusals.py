"""The faults of a sandbox that is not built. Nothing runs where one of these is raised."""

from switchboard.core.faults import Fault, FaultCode


def refused_root(what: str, hint: str, path: str) -> Fault:
    """A folder that cannot be opened as it is asked for."""
    return Fault(FaultCode.FAILED_PRECONDITION, "sandbox-root", what, hint=hint, private=path)


def refused_link(path: str) -> Fault:
    """A protected path that whoever is inside could point elsewhere."""
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "sandbox-link",
        "a protected path of a writable folder is, or crosses, a symbolic link",
        hint="replace the link by what it points to; the log names it",
        private=path,
    )


def refused_repositories(most: int) -> Fault:
    """More repositories than can be guarded one by one."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "sandbox-root",
        f"a writable folder holds more than {most} repositories",
        hint="run it in one of them",
    )


def refused_env_files(most: int) -> Fault:
    """More environment files than can be hidden one by one."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "sandbox-root",
        f"a folder that is opened holds more than {most} environment files",
        hint="open a part of it, or `read_env_files = true` if it may read them",
    )


def refused_change(path: str) -> Fault:
    """What was looked at is not what was mounted, or is gone."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "sandbox-changed",
        "a guarded path changed while the sandbox was built",
        hint="try again; the log names the path",
        private=path,
    )


def lost_guard(name: str) -> Fault:
    """A guarded path is another file by now, which nothing guards."""
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "sandbox-guard-lost",
        f"it was ended: `{name}` was replaced while it ran, and its sandbox no longer guards it",
        hint="call it again: it is restarted, with a guard on what is there now",
        details={"path": name},
    )


def late_mount(place: str) -> Fault:
    """A file system came into a sandbox that runs."""
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "sandbox-late-mount",
        f"it was ended: `{place}` was mounted while it ran, and its sandbox could write there",
        hint="call it again: it is restarted, and cannot write there",
        details={"path": place},
    )


def unavailable(why: str, fix: str) -> Fault:
    """There is no sandbox that works, so nothing is started."""
    return Fault(
        FaultCode.PERMISSION_DENIED, "sandbox-unavailable", f"sandbox unavailable: {why}", hint=fix
    )
