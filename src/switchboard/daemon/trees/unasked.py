"""What keeps a session from the board of another worktree."""


class UnaskedVariables(Exception):
    """The configuration there names variables that the client was not asked for."""
