"""What is hidden wherever it is."""

import os

from switchkit.platform.paths import true_path

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
SCRATCH = {
    "/tmp": SCRATCH_BYTES,  # noqa: S108
    "/var/tmp": SCRATCH_BYTES,  # noqa: S108
    "/run": RUN_BYTES,
    # Other disks, those too that are mounted while it runs.
    "/mnt": RUN_BYTES,
    "/media": RUN_BYTES,
}
# The same of macOS: everybody's temporary files, and other disks. A sandbox closes them.
MAC_SHARED = ("/private/tmp", "/private/var/tmp", "/private/var/folders", "/Volumes")


def machine_secrets() -> list[str]:
    """Those that this machine has."""
    return [true_path(path) for path in MACHINE_SECRETS if os.path.exists(path)]
