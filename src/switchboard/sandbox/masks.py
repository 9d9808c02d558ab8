"""What is hidden wherever it is, and how a path is hidden."""

import os

# Secrets of the machine. Root can read them, and sandboxes are run by root too.
MACHINE_SECRETS = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/root",
    "/var/lib/docker",
    "/var/spool/cron",
)
# Sockets and other programs' temporary files live here; each sandbox gets empty ones.
SCRATCH_BYTES = 256 << 20
RUN_BYTES = 1 << 20
SCRATCH = {"/tmp": SCRATCH_BYTES, "/var/tmp": SCRATCH_BYTES, "/run": RUN_BYTES}  # noqa: S108


def mask(path: str) -> list[str]:
    """Arguments that make an existing path unreadable."""
    if os.path.isdir(path):
        return ["--perms", "000", "--tmpfs", path, "--remount-ro", path]
    # A device does not open on a mount without devices, so reading gives EACCES.
    return ["--ro-bind", os.devnull, path]


def empty(path: str, size: int) -> list[str]:
    """Arguments that put an empty folder, which is forgotten at the end, in the place of one."""
    return ["--size", str(size), "--tmpfs", path]


def machine_secrets() -> list[str]:
    """Those that this machine has."""
    return [os.path.realpath(path) for path in MACHINE_SECRETS if os.path.exists(path)]
