"""The local runtime of a project: worktrees, services, ports and logs.

Standard library only. `switchboard` may import this package; it never imports `switchboard`.
"""

__version__ = "0.2.0"
