"""What hosts do to the environment of a person, undone: what they add for themselves and take away.

Sessions of two hosts are alike in everything that a server would see, but for this.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase

import msgspec

from switchboard.children.http.proxy import PROXY_NAMES
from switchboard.children.starting.runner_variables import all_patterns
from switchboard.daemon.hello import Hello
from switchboard.daemon.sessions.client_programs import clients_above
from switchboard.ipc.environment import FAMILY_END, chosen, hello_environment
from switchboard.ipc.protocol import EVERYTHING
from switchkit.platform import Unknown
from switchkit.processes import environment, living

Ask = Callable[[Sequence[str]], Awaitable[dict[str, str]]]

# Folders that a host, or the npm that started it, puts into PATH for programs of its own.
_FOLDERS = (
    "*/codex-path",
    "*/codex*/vendor/*/path",
    "*/arg0*/codex-arg0*",
    "*/_npx/*/node_modules/.bin",
    "*/@npmcli/run-script/lib/node-gyp-bin",
    "*/bin/remote-cli",
)
# Which window, which host and which session of it this is.
_PRIVATE = frozenset(
    (
        *("_", "PWD", "OLDPWD", "SHLVL", "WINDOWID", "TERM_SESSION_ID", "ITERM_SESSION_ID"),
        *("TMUX", "TMUX_PANE", "STY", "SSH_TTY", "GPG_TTY", "INVOCATION_ID", "JOURNAL_STREAM"),
        *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PID"),
        *("CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_EXECPATH", "AI_AGENT", "GEMINI_CLI"),
        *("CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_BY_BUN", "CODEX_MANAGED_PACKAGE_ROOT"),
        *("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
        *("OPENCODE", "OPENCODE_PID", "OPENCODE_PROCESS_ROLE", "AGENT"),
    )
)
# Hosts that give servers a few variables only, without having been told to.
_SPARING = frozenset({"codex"})


def without_folders_of_hosts(path: str) -> str:
    """A search path without what only a host needs there, and each folder once."""
    folders = dict.fromkeys(path.split(os.pathsep))
    kept = (
        each
        for each in folders
        if not any(fnmatchcase(each.rstrip(os.sep), pattern) for pattern in _FOLDERS)
    )
    return os.pathsep.join(kept)


def as_person_has_it(hello: Hello, ask: Ask, pid: int) -> tuple[Hello, Ask]:
    """A hello, and a way to ask, in which the environment is the person's and not the host's."""
    withheld = _withheld(pid)
    environ = {**hello_environment(withheld), **hello.environ}
    if "PATH" in environ:
        environ["PATH"] = without_folders_of_hosts(environ["PATH"])

    async def ask_for(names: Sequence[str]) -> dict[str, str]:
        # Of what is secret, the host alone decides what we hear.
        everything = (*PROXY_NAMES, *all_patterns()) if EVERYTHING in names else ()
        passable = [each for each in names if each in PROXY_NAMES or _is_family(each)]
        passable += everything
        found = {**chosen(withheld, passable), **await ask(names)}
        if EVERYTHING in names:
            if "PATH" in found:
                found["PATH"] = without_folders_of_hosts(found["PATH"])
            found = {name: text for name, text in found.items() if name not in _PRIVATE}
        return found

    return msgspec.structs.replace(hello, environ=environ), ask_for


def _is_family(name: str) -> bool:
    return name.endswith(FAMILY_END) and name != EVERYTHING


def _withheld(pid: int) -> dict[str, str]:
    """What the host of a process was started with, if it is one that passes on little."""
    for each in clients_above(pid):
        try:
            host = living(each)
        except Unknown:
            continue
        if host is not None and host.name in _SPARING:
            return environment(each)
    return {}
