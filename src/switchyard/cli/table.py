"""Every verb and its arguments as data: help, completion and parsing read the same table."""

from switchkit.cli.usage import SHELLS, Option, Program, Usage, Value, Word


class YardVerb(Value):
    """One verb: its module and its arguments."""

    module: str
    usage: Usage


BRANCH_WORD = Word("BRANCH", optional=True)
SERVICE = Word("SERVICE")
SERVICES = (BRANCH_WORD, Word("SERVICE", optional=True, many=True))
ALL = Option("all", "of every project of this home, moved and deleted ones included")
BRANCH = Option("branch", "the branch, if not the current one", "NAME", short="-b")
NAME = Option("name", "name of the server and of the alias", "NAME")
FORCE = Option("force", "repoint an alias that points elsewhere")
PROGRAM = Program(
    "switchyard",
    (
        Option("json", "print one JSON object"),
        Option("cwd", "act as if started in this folder", "DIR", hidden=True),
        Option("help", "show this help", short="-h"),
    ),
)


def _verb(
    name: str,
    module: str,
    about: str,
    words: tuple[Word, ...] = (),
    options: tuple[Option, ...] = (),
    *,
    rest: str = "",
) -> YardVerb:
    return YardVerb(module, Usage(name, about, words, options, rest=rest))


VERBS: dict[str, YardVerb] = {
    verb.usage.verb: verb
    for verb in (
        _verb(
            "init",
            "setup",
            "write a switchyard.toml for this project",
            (),
            (
                Option("dry-run", "show the file and write nothing"),
                Option("force", "replace an existing file"),
            ),
        ),
        _verb("doctor", "reading", "show the setup and what is wrong with it"),
        _verb(
            "up",
            "runtime",
            "start services and wait until they are ready",
            SERVICES,
            (
                Option("profile", "start the services of a profile", "NAME", short="-p"),
                BRANCH,
                Option("wait", "wait until all are ready (the default)"),
                Option("no-wait", "return as soon as they are started"),
                Option("timeout", "wait at most this long", "DURATION"),
                Option("recreate", "start again what runs as an older file or branch says"),
                Option("attach", "stay and show their output; Ctrl-C asks what should happen"),
            ),
        ),
        _verb("down", "runtime", "stop services with all their processes", SERVICES, (BRANCH, ALL)),
        _verb(
            "restart",
            "runtime",
            "stop services and start them again",
            SERVICES,
            (BRANCH, Option("profile", "the profile to start with", "NAME", short="-p")),
        ),
        _verb("status", "status", "show what is running", (BRANCH_WORD,), (BRANCH, ALL)),
        _verb("ps", "machine", "show what is running of every project"),
        _verb(
            "where",
            "where",
            "show address, pid, folder and log of a service",
            (SERVICE, BRANCH_WORD),
            (BRANCH,),
        ),
        _verb(
            "wait",
            "wait",
            "wait until a service is ready, or has ended",
            (SERVICE, BRANCH_WORD),
            (BRANCH, Option("timeout", "wait at most this long (30s)", "DURATION")),
        ),
        _verb("brief", "brief", "show the project at a glance", (BRANCH_WORD,), (BRANCH,)),
        _verb("list", "reading", "list the registered worktrees"),
        _verb(
            "logs",
            "reading",
            "show the end of the logs",
            (Word("SERVICE", optional=True), BRANCH_WORD),
            (
                BRANCH,
                Option("lines", "how many lines", "N", short="-n"),
                Option("follow", "keep printing new lines", short="-f"),
                Option("since", "only lines since then, such as 10m or 14:05:30", "TIME"),
                Option("until", "only lines until then", "TIME"),
                Option("times", "put the time before each line", short="-t"),
                Option("grep", "only lines that match", "REGEX"),
                Option("errors", "only lines that report errors"),
                Option("merge", "one stream of all services and branches, by time"),
            ),
        ),
        _verb(
            "create",
            "trees",
            "create a worktree for a branch",
            (Word("BRANCH"),),
            (
                Option("base", "where a new branch starts", "REF"),
                Option("path", "where the worktree goes", "DIR"),
                Option("force-env", "replace existing env files"),
            ),
        ),
        _verb("adopt", "trees", "register worktrees that git made", (Word("PATH", optional=True),)),
        _verb(
            "rm",
            "trees",
            "remove a worktree that holds no work",
            (Word("BRANCH"),),
            (
                Option("force-tree", "discard changes in its files"),
                Option("delete-branch", "delete the branch too"),
                Option("force-branch", "discard commits that exist nowhere else"),
            ),
        ),
        _verb(
            "prune",
            "trees",
            "forget worktrees that are gone",
            (),
            (
                Option("dry-run", "show what would happen"),
                Option("merged", "remove finished worktrees too"),
            ),
        ),
        _verb(
            "reset",
            "trees",
            "make a resource of a branch anew from its template",
            (Word("RESOURCE"), BRANCH_WORD),
            (BRANCH,),
        ),
        _verb(
            "attach",
            "attach",
            "use the terminal of a service with `tty = true`",
            (SERVICE, BRANCH_WORD),
            (BRANCH,),
        ),
        _verb("checkout", "runtime", "point the canonical ports at a branch", SERVICES, (BRANCH,)),
        _verb("uncheckout", "runtime", "release the canonical ports", SERVICES, (BRANCH,)),
        _verb(
            "open",
            "running",
            "open a service in the browser",
            (SERVICE, BRANCH_WORD),
            (BRANCH, Option("print-only", "print the address instead")),
        ),
        _verb(
            "exec",
            "running",
            "run a command with the variables of a service",
            (BRANCH_WORD,),
            (Option("service", "the service whose variables to use", "NAME", short="-s"),),
            rest="COMMAND…",
        ),
        _verb(
            "env",
            "running",
            "show the variables of a service",
            (SERVICE, BRANCH_WORD),
            (BRANCH, Option("reveal", "show values that look secret")),
        ),
        _verb(
            "mcp",
            "mcp",
            "serve MCP on stdin and stdout, or set up a client",
            (Word("WHAT", optional=True, choices=("config", "install", "projects", "smoke")),),
            (
                Option("project", "the registered project to serve", "NAME"),
                NAME,
                FORCE,
                Option("dry-run", "show what would be written, and register nothing"),
            ),
        ),
        _verb(
            "proxy",
            "proxy",
            "show how names are served, or serve them over HTTPS too",
            (Word("WHAT", optional=True, choices=("setup", "remove")),),
            (
                Option("trust", "have this system trust the certificates"),
                Option("store", "the folder of trusted certificates", "DIR", hidden=True),
            ),
        ),
        _verb("completion", "setup", "print a completion script", (Word("SHELL", choices=SHELLS),)),
        _verb("version", "setup", "the version"),
    )
}
