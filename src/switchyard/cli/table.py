"""Every verb with its options, as data: help, completion and parsing read the same table."""

from typing import NamedTuple


class Option(NamedTuple):
    """One option. `value` names what it takes; empty means it is a switch."""

    name: str
    help: str
    value: str = ""
    short: str = ""
    hidden: bool = False


class Verb(NamedTuple):
    """One verb: where it lives and what it takes."""

    module: str
    help: str
    usage: str = ""
    options: tuple[Option, ...] = ()
    most: int = 0
    takes_command: bool = False


JSON = Option("json", "answer with one JSON object")
CWD = Option("cwd", "act as if started in this folder", "DIR", hidden=True)
BRANCH = Option("branch", "the branch, when it is not this one", "NAME", "b")
COMMON = (JSON, CWD, Option("help", "show this help", short="h"))
NAME = Option("name", "name of the server and alias", "NAME")
FORCE = Option("force", "repoint an alias that leads elsewhere")

VERBS: dict[str, Verb] = {
    "init": Verb(
        "setup",
        "write a switchyard.toml for this project",
        options=(
            Option("dry-run", "show the file and write nothing"),
            Option("force", "replace a file that is there"),
        ),
    ),
    "doctor": Verb("reading", "show the setup and what is wrong with it"),
    "up": Verb(
        "runtime",
        "start services and wait until they are ready",
        "[BRANCH] [SERVICE...]",
        (
            Option("profile", "start the services of a profile", "NAME", "p"),
            BRANCH,
            Option("wait", "wait until all are ready (the default)"),
            Option("no-wait", "return as soon as they are started"),
            Option("timeout", "wait at most this long", "DURATION"),
        ),
        most=99,
    ),
    "down": Verb("runtime", "stop services, whole trees", "[BRANCH] [SERVICE...]", (BRANCH,), 99),
    "restart": Verb(
        "runtime",
        "stop services and start them again",
        "[BRANCH] [SERVICE...]",
        (BRANCH, Option("profile", "the profile to start with", "NAME", "p")),
        99,
    ),
    "status": Verb("status", "what runs and what does not", "[BRANCH]", (BRANCH,), 1),
    "where": Verb("where", "address, pid, folder and log of a service", "SERVICE", (BRANCH,), 1),
    "brief": Verb("brief", "the project in one answer", "[BRANCH]", (BRANCH,), 1),
    "list": Verb("reading", "the registered worktrees"),
    "logs": Verb(
        "reading",
        "the end of the logs",
        "[SERVICE]",
        (
            BRANCH,
            Option("lines", "how many lines", "N", "n"),
            Option("follow", "go on with new lines", short="f"),
            Option("since", "only what came since, such as 10m", "DURATION"),
            Option("grep", "only lines that match", "REGEX"),
            Option("errors", "only lines that tell of errors"),
            Option("merge", "one stream, each line with its service"),
        ),
        1,
    ),
    "create": Verb(
        "trees",
        "make a worktree for a branch",
        "BRANCH",
        (
            Option("base", "where a new branch begins", "REF"),
            Option("path", "where the worktree goes", "DIR"),
            Option("force-env", "replace env files that are there"),
        ),
        1,
    ),
    "adopt": Verb("trees", "make worktrees known that git made", "[PATH]", (), 1),
    "rm": Verb(
        "trees",
        "remove a worktree that holds no work",
        "BRANCH",
        (
            Option("force-tree", "give up changes in its files"),
            Option("delete-branch", "delete the branch too"),
            Option("force-branch", "give up commits that are nowhere else"),
        ),
        1,
    ),
    "prune": Verb(
        "trees",
        "forget worktrees that are gone",
        options=(
            Option("dry-run", "show what would happen"),
            Option("merged", "remove finished worktrees too"),
        ),
    ),
    "checkout": Verb(
        "runtime", "lead the canonical ports to a branch", "[BRANCH] [SERVICE...]", (BRANCH,), 99
    ),
    "uncheckout": Verb(
        "runtime", "let the canonical ports go", "[BRANCH] [SERVICE...]", (BRANCH,), 99
    ),
    "open": Verb(
        "running",
        "open a service in the browser",
        "SERVICE",
        (BRANCH, Option("print-only", "print the address instead")),
        1,
    ),
    "exec": Verb(
        "running",
        "run a command with the variables of a service",
        "[BRANCH] -- COMMAND...",
        (Option("service", "whose variables", "NAME", "s"),),
        1,
        takes_command=True,
    ),
    "env": Verb(
        "running",
        "show the variables of a service",
        "SERVICE",
        (BRANCH, Option("reveal", "show values that look secret")),
        1,
    ),
    "mcp": Verb(
        "mcp",
        "serve MCP on stdin and stdout, or set a client up",
        "[config|install|projects|smoke]",
        (
            Option("project", "the registered project to serve", "NAME"),
            NAME,
            FORCE,
            Option("dry-run", "show what would be written, and register nothing"),
        ),
        1,
    ),
    "completion": Verb("setup", "a completion script", "bash|zsh|fish", (), 1),
    "version": Verb("setup", "the version"),
}


def options_of(verb: Verb) -> tuple[Option, ...]:
    """Its own options and those that all verbs take."""
    return (*verb.options, *COMMON)
