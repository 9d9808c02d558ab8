"""The `PATH` of the login shell against ours: who is started from a desktop has that one."""

import os
from collections.abc import Iterator, Mapping, Sequence
from shutil import which

from switchboard.children.schema import ServerEntry
from switchboard.cli.verbs.parts.servers import program_of
from switchboard.procs.trial import trial
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings

# A profile that takes longer has its user wait at every login.
_LOGIN_S = 5.0
_MARK = "switchboard-path:"
# What a login begins with.
_KEPT = ("HOME", "USER", "LOGNAME", "LANG", "SHELL")


def about_path(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Programs of servers that the login shell does not find, or finds elsewhere."""
    named = [
        each
        for each in settings.servers
        if each.transport == "stdio" and os.sep not in each.command
    ]
    theirs = _login_path(environ) if named else None
    if theirs is None:
        return
    found = [
        (entry, program_of(entry, environ), which(entry.command, path=theirs))
        for entry in {each.command: each for each in named}.values()
    ]
    # Whoever installs programs somewhere has more than one there: that is one thing to mend.
    folders: dict[str, list[ServerEntry]] = {}
    for entry, ours, other in found:
        if ours is not None and other is None:
            folders.setdefault(os.path.dirname(ours), []).append(entry)
    for folder, entries in folders.items():
        if len(entries) > 1:
            yield _about_folder(folder, entries)
    for entry, ours, other in found:
        if other is not None or len(folders.get(os.path.dirname(ours or ""), ())) == 1:
            yield from _about(entry, ours, other)


def _about_folder(folder: str, entries: Sequence[ServerEntry]) -> Finding:
    names = ", ".join(f"`{each.command}`" for each in entries)
    return Finding(
        severity="warning",
        subject="PATH",
        message=f"your login shell does not look in {folder}, where {names} are: a host that is"
        " started from the desktop does not find them",
        hint=f'write PATH="{folder}:$PATH" into the profile of your login shell, or full paths as'
        " their `command`",
    )


def _about(entry: ServerEntry, ours: str | None, theirs: str | None) -> Iterator[Finding]:
    command = entry.command
    if ours is None and theirs is not None:
        yield Finding(
            severity="note",
            subject="path",
            message=f"your login shell finds `{command}` at {theirs}, and this shell does not",
            hint=f"write `{theirs}` as the `command` of `{entry.name}`",
        )
    elif ours is not None and theirs is None:
        yield Finding(
            severity="warning",
            subject="PATH",
            message=f"`{command}` is at {ours}, where your login shell does not look: a host that"
            " is started from the desktop does not find it",
            hint=f"write `{ours}` as the `command` of `{entry.name}`",
        )
    elif ours is not None and theirs is not None and not os.path.samefile(ours, theirs):
        yield Finding(
            severity="note",
            subject="path",
            message=f"`{command}` is {ours} here, and {theirs} in your login shell",
            hint=f"write `{ours}` as the `command` of `{entry.name}`",
        )


def _login_path(environ: Mapping[str, str]) -> str | None:
    """The `PATH` after a login; nothing where that cannot be told."""
    shell = environ.get("SHELL", "")
    if not os.path.isabs(shell):
        return None
    env = {name: environ[name] for name in _KEPT if name in environ}
    command = (shell, "-l", "-c", f'printf "\\n{_MARK}%s\\n" "$PATH"')
    try:
        said = trial(command, timeout_s=_LOGIN_S, env={**env, "PATH": os.defpath, "TERM": "dumb"})
    except OSError:
        return None
    # A profile may print what it likes.
    lines = [line for line in said.stdout.splitlines() if line.startswith(_MARK)]
    return lines[-1].removeprefix(_MARK) if lines else None
