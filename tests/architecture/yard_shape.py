"""The shape that Switchyard has to keep: which of its folders may import which.

Imports point down this table only, so no two folders import each other. A folder may always import
from its own folder and from the words of the package itself (`switchyard.__version__`).
"""

_STATE = {"core", "files", "config", "git", "project", "runtime"}

YARD_MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "files": set(),
    "config": {"core"},
    "project": {"core", "files", "config"},
    "git": {"core", "project"},
    "runtime": {"core", "files", "config", "project"},
    "resources": _STATE,
    "certificates": _STATE,
    "control": _STATE,
    "queries": {*_STATE, "control"},
    "worktrees": {*_STATE, "control", "resources"},
    "supervisor": {*_STATE, "control", "resources", "certificates"},
    "api": {*_STATE, "control", "queries", "worktrees"},
    "mcp": {*_STATE, "api"},
    "cli": {*_STATE, "control", "queries", "worktrees", "mcp", "certificates"},
    "__main__": {"core", "cli"},
}

_CONFIGURATION = "switchyard.project.configuration"
_RARE_READ = (
    "reading the configuration costs more than the rest of the command, which rarely needs it"
)

# What is imported inside a function, and why. Everywhere else imports sit on top.
YARD_LATE_IMPORTS: dict[tuple[str, str], str] = {
    ("core/slugs.py", "unicodedata.normalize"): "few names need its tables",
    ("core/fast_import.py", "urllib.parse.quote_from_bytes"): "nothing here asks for it",
    ("cli/main.py", "switchyard.cli.verbs.*"): "one verb of many is loaded, by its name",
    ("cli/verbs/brief.py", "switchyard.queries.brief.brief"): "git works while it is loaded",
    ("cli/verbs/runtime.py", f"{_CONFIGURATION}.config_of"): _RARE_READ,
    ("cli/verbs/runtime.py", "switchyard.runtime.runs.RunBook"): "as above",
    (
        "cli/verbs/status.py",
        "switchyard.runtime.resource_records.resource_records",
    ): "few projects have any",
    ("cli/verbs/status.py", "switchyard.runtime.resource_records.shown_address"): "as above",
    (
        "cli/verbs/runtime.py",
        "switchyard.cli.start_screen.StartScreen",
    ): "only a terminal is drawn on",
    (
        "cli/report.py",
        "switchkit.cli.style.safe_for_terminals",
    ): "only a terminal can be steered",
    ("project/outline.py", f"{_CONFIGURATION}.config_of"): _RARE_READ,
    ("config/reader.py", "shlex.split"): "few commands have anything to quote",
    ("config/reader.py", "switchkit.toml.positions.by_place"): "most files have no mistake",
    ("config/reader.py", "switchkit.toml.positions.nearest"): "as above",
    ("config/reader.py", "switchkit.toml.positions.statements"): "as above",
    ("config/services.py", "signal.Signals"): "most services are stopped with SIGTERM",
    ("git/status.py", "switchkit.git.quiet_git.replaced"): "few repositories name programs",
    ("git/status.py", "switchyard.git.repository.git"): "as above",
    ("control/actions.py", f"{_CONFIGURATION}.check_service"): _RARE_READ,
    ("control/actions.py", f"{_CONFIGURATION}.config_for"): _RARE_READ,
    ("control/actions.py", f"{_CONFIGURATION}.config_of"): _RARE_READ,
    ("control/actions.py", "switchyard.runtime.branches.known_target"): "few commands need it",
    ("control/actions.py", "switchyard.runtime.runs.all_runs"): "as above",
    ("control/actions.py", "switchyard.runtime.observed.Observer"): "as above",
    (
        "control/actions.py",
        "switchyard.runtime.checkouts.stored_checkouts",
    ): "as above",
    ("runtime/resolving.py", "socket.getaddrinfo"): "most questions are not about names",
    ("queries/services.py", f"{_CONFIGURATION}.check_service"): _RARE_READ,
    ("queries/services.py", f"{_CONFIGURATION}.config_for"): _RARE_READ,
    (
        "supervisor/main.py",
        "switchyard.supervisor.server.serve",
    ): "the socket is there first, so that the caller sends its request meanwhile",
    (
        "supervisor/yard.py",
        "switchyard.supervisor.forwarding.tls_gate.TlsGate",
    ): "`ssl` is large, and few ask for HTTPS",
    ("supervisor/yard.py", "switchyard.supervisor.forwarding.tls_gate.NameRules"): "as above",
    (
        "supervisor/operations/start.py",
        "switchyard.supervisor.operations.resources.make_resources",
    ): "few projects have any",
    (
        "supervisor/operations/start.py",
        "switchyard.supervisor.operations.resources.server_services",
    ): "as above",
    (
        "supervisor/operations/start.py",
        "switchyard.supervisor.login.login_environment",
    ): "few ask for the variables of a login shell, and `subprocess` loads slowly",
}
