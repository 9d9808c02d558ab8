"""The shape that Switchyard has to keep: which of its folders may import which.

Imports point down this table only, so no two folders import each other. A folder may always import
from its own folder and from the words of the package itself (`switchyard.__version__`).
"""

_STATE = {"core", "files", "proc", "config", "git", "project", "runtime"}

YARD_MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "files": set(),
    "proc": set(),
    "config": {"core"},
    "git": {"core"},
    "project": {"core", "files", "config", "git"},
    "runtime": {"core", "files", "proc", "config", "project"},
    "control": _STATE,
    "queries": _STATE,
    "worktrees": {*_STATE, "control"},
    "supervisor": {*_STATE, "control"},
    "api": {*_STATE, "control", "queries", "worktrees"},
    "mcp": {*_STATE, "api"},
    "cli": {*_STATE, "control", "queries", "worktrees", "mcp"},
    "__main__": {"cli"},
}

# What is imported inside a function, and why. Everywhere else imports sit on top.
YARD_LATE_IMPORTS: dict[tuple[str, str], str] = {
    ("config/reader.py", "switchkit.toml_positions.nearest"): "most files are right",
    ("config/reader.py", "switchkit.toml_positions.statements"): "as above",
    (
        "cli/verbs/runtime.py",
        "switchyard.project.configuration.config_of",
    ): "most command lines name no service, and the supervisor reads the configuration anyway",
    (
        "queries/services.py",
        "switchyard.project.configuration.check_service",
    ): "only a service that was never started needs it",
    ("queries/services.py", "switchyard.project.configuration.config_for"): "as above",
    (
        "queries/brief.py",
        "switchyard.project.configuration.config_of",
    ): "git works while it is loaded",
    ("queries/brief.py", "switchyard.queries.logs.sift_for"): "as above",
}
