"""What this process may leave behind."""

import resource


def leave_no_core() -> None:
    """Let a crash leave no picture of our memory, nor of our children's: both hold secrets."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
