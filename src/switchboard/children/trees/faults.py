"""What goes wrong with worktrees, as faults. They tell names, and no folder."""

import shlex
from collections.abc import Callable, Iterable

import msgspec

from switchboard.core.faults import Fault, FaultCode

# How whoever calls names a worktree.
Naming = Callable[[str], str]


def in_suites(name: str) -> str:
    """In the arguments of a suite."""
    return f"say {msgspec.json.encode({'worktree': name}).decode()}"


def in_commands(name: str) -> str:
    """On a command line."""
    return f"say `--worktree {shlex.quote(name)}`"


def in_meta(name: str) -> str:
    """Where a tool has arguments of its server's choice alone."""
    return f"give paths of `{name}` alone, or name it in `_meta` as `switchboard/worktree`"


def wrong_tree(server: str, looks_at: str, argument: str, lies_in: str, hint: str) -> Fault:
    """A path lies in another worktree than the one that the server would look at."""
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "wrong-tree",
        f"`{server}` looks at the worktree `{looks_at}`, and `{argument}` is in `{lies_in}`",
        hint=hint,
    )


def several_trees(server: str, names: Iterable[str], hint: str) -> Fault:
    """Paths of one call lie in several worktrees, and a server looks at one."""
    listed = ", ".join(f"`{name}`" for name in names)
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "wrong-tree",
        f"`{server}` looks at one worktree at a time, and these paths are in several: {listed}",
        hint=hint,
    )


def undecided(server: str, names: Iterable[str], naming: Naming) -> Fault:
    """The client works in several worktrees at once."""
    listed = [*names]
    told = ", ".join(f"`{name}`" for name in listed)
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "tree-undecided",
        f"this client works in several worktrees, and `{server}` looks at one: {told}",
        hint=naming(listed[0]),
    )


def unknown_tree(name: str, names: Iterable[str]) -> Fault:
    """There is no such worktree, or several have that name."""
    listed = ", ".join(names)
    is_path = name.startswith(("/", "file://"))
    meant = "at that path" if is_path else f"`{name}`, or several of that name"
    return Fault(
        FaultCode.NOT_FOUND,
        "unknown-worktree",
        f"this repository has no worktree {meant}",
        hint=f"it has: {listed}" if listed else "it has none beside this one",
    )


def no_repository(server: str) -> Fault:
    """Somebody named a worktree where there is no repository."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "no-repository",
        f"`{server}` is in no git repository of yours, so there is no other worktree",
        hint="call it without naming one",
    )


def follows_nobody(server: str) -> Fault:
    """Somebody named a worktree for a server that does not follow."""
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "worktree-not-followed",
        f"`{server}` always looks at the folder that it was started in",
        hint='write `follow = "worktree"` in its entry, or call it without naming a worktree',
    )


def tree_gone(server: str, name: str, naming: Naming, others: Iterable[str]) -> Fault:
    """The worktree that somebody works in, or that a server looks at, was removed."""
    other = next(iter(others), "")
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "tree-gone",
        f"the worktree `{name}` that `{server}` would look at was removed or moved",
        hint=naming(other) if other else "go on in a folder that is there",
    )


def folder_gone(server: str) -> Fault:
    """The folder that a server stands in is not there any more."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "tree-gone",
        f"the worktree that `{server}` looks at was removed, moved or replaced",
        hint="go on in a folder that is there",
    )


def tree_leaving(server: str) -> Fault:
    """Somebody removes the worktree right now."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "tree-leaving",
        f"the worktree that `{server}` looks at is being removed",
        hint="go on in another worktree",
    )


def lacks_folder(server: str, name: str) -> Fault:
    """The worktree does not have the folder that the session works in."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "tree-lacks-folder",
        f"the worktree `{name}` does not have the folder in which `{server}` stands",
        hint="it may be of another branch: work in a folder that both have",
    )


def not_there(server: str, name: str, why: str, hint: str) -> Fault:
    """The server cannot be used in the other worktree."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "tree-refused",
        f"`{server}` cannot look at the worktree `{name}`: {why}",
        hint=hint,
    )
