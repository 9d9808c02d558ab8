"""Where a value came from: the scope that set it and the place in a file."""

from enum import StrEnum

from msgspec import Struct


class Scope(StrEnum):
    """Who spoke. Later members outrank earlier ones when a setting is layered."""

    DEFAULT = "default"
    HOME = "home"
    WORKSPACE = "workspace"
    PROVIDER = "provider"
    AGENT = "agent"
    SKILL = "skill"
    ENVIRONMENT = "environment"
    FLAG = "flag"


# Where the user alone speaks. A file of a repository may have any name in it, and may not decide
# about the questions that are asked of what it starts.
THE_USERS = frozenset({Scope.HOME, Scope.ENVIRONMENT, Scope.FLAG})


class Origin(Struct, frozen=True, kw_only=True):
    """One place: a file with a position, or an environment variable or flag by name."""

    scope: Scope = Scope.DEFAULT
    path: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{self.scope}, {place}" if place else str(self.scope)
