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


def unavailable(why: str, fix: str) -> Fault:
    """There is no sandbox that works, so nothing is started."""
    return Fault(
        FaultCode.PERMISSION_DENIED, "sandbox-unavailable", f"sandbox unavailable: {why}", hint=fix
    )
