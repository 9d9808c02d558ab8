"""A mistake in the configuration, told so that its author can mend it."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct

from switchkit.cli.columns import visible

Severity = Literal["error", "warning"]
# The file cannot be read, is no text of its format, or says something that it may not.
ProblemKind = Literal["unreadable", "syntax", "content"]

_LONGEST_QUOTE = 80
# So many tell enough of a file; more only take time.
MOST_PROBLEMS = 100


class Problem(Struct, frozen=True, kw_only=True):
    """One mistake and its place. `near` says that the line is a good guess, not a fact."""

    path: str
    line: int = 0
    column: int = 0
    key: str = ""
    message: str
    hint: str = ""
    severity: Severity = "error"
    near: bool = False
    kind: ProblemKind = "content"

    def __str__(self) -> str:
        """The whole problem in one line, for a log."""
        where = place(self)
        said = f"{where} {self.key}: {self.message}" if self.key else f"{where}: {self.message}"
        return visible(f"{said} (hint: {self.hint})" if self.hint else said)

    def to_dict(self) -> dict[str, Any]:
        """The same as an object, for `--json`."""
        return {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "key": self.key,
            "message": self.message,
            "hint": self.hint,
            "severity": self.severity,
            "near": self.near,
            "kind": self.kind,
        }


class ConfigInvalid(Exception):
    """The configuration cannot be used. Carries every problem that was found."""

    def __init__(
        self,
        problems: Iterable[Problem],
        *,
        workspace: str = "",
        user_home: str = "",
        # The files that were read; without a broken one the others may be of use.
        files: Iterable[str] = (),
    ) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.files = frozenset(files)
        self.workspace = workspace
        self.user_home = user_home
        super().__init__(f"{counted(self.problems)} in the configuration")

    def render(self) -> str:
        """The whole report as people read it."""
        return render_problems(self.problems, workspace=self.workspace, user_home=self.user_home)

    def to_dict(self) -> dict[str, Any]:
        """The whole report as programs read it."""
        return {"problems": [problem.to_dict() for problem in self.problems]}

    def __str__(self) -> str:
        return self.render()


def counted(problems: Sequence[Problem]) -> str:
    """`1 problem`, `2 problems and 1 warning`."""
    warnings = sum(problem.severity == "warning" for problem in problems)
    numbers = ((len(problems) - warnings, "problem"), (warnings, "warning"))
    return " and ".join(
        f"{number} {noun}" if number == 1 else f"{number} {noun}s"
        for number, noun in numbers
        if number
    )


def shown_path(path: str, *, workspace: str = "", user_home: str = "") -> str:
    """The path relative to the workspace, or with `~`, or as it is."""
    for root, prefix in ((workspace, ""), (user_home, "~" + os.sep)):
        if root and root != os.sep and path.startswith(root.rstrip(os.sep) + os.sep):
            return prefix + path[len(root.rstrip(os.sep)) + 1 :]
    return path


def place(problem: Problem, *, workspace: str = "", user_home: str = "") -> str:
    """Where the problem is: `file:line:column`, or about where."""
    where = shown_path(problem.path, workspace=workspace, user_home=user_home)
    if problem.line and problem.near:
        return f"{where}, near line {problem.line}"
    if not problem.line:
        return where
    # Of some problems only the line is known.
    return f"{where}:{problem.line}" + (f":{problem.column}" if problem.column else "")


def render_problems(
    problems: Sequence[Problem], *, workspace: str = "", user_home: str = ""
) -> str:
    """A heading and one block a problem, in the order in which they were found."""
    word = "error" if any(problem.severity == "error" for problem in problems) else "warning"
    blocks = [f"{word}: {counted(problems)} in the configuration"]
    blocks += [_block(problem, workspace, user_home) for problem in problems]
    return "\n\n".join(blocks) + "\n"


def _block(problem: Problem, workspace: str, user_home: str) -> str:
    where = place(problem, workspace=workspace, user_home=user_home)
    first = f"  {where}  {problem.key}" if problem.key else f"  {where}"
    note = "warning: " if problem.severity == "warning" else ""
    lines = [first, f"    {note}{problem.message}"]
    if problem.hint:
        lines.append(f"    hint: {problem.hint}")
    return "\n".join(map(visible, lines))


def quoted(value: str) -> str:
    """A value from a file as part of a sentence, cut when it is long."""
    return f"`{value[:_LONGEST_QUOTE]}…`" if len(value) > _LONGEST_QUOTE else f"`{value}`"
