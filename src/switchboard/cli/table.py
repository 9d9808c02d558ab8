"""Every verb: where its module is and what it does, so that help needs to import none of them."""

import sys
from types import ModuleType

from msgspec import Struct


class Verb(Struct, frozen=True):
    """One line of the help."""

    module: str
    summary: str
    group: str


_VERBS = "switchboard.cli.verbs."
# It takes a second to load its vocabulary, and only a count needs it.
TOKENIZER = _VERBS + "parts.tokenizer"

VERBS: dict[str, Verb] = {
    name: Verb(_VERBS + module, summary, group)
    for name, module, summary, group in (
        ("init", "init", "Prepare this workspace, and show the lines for your clients", "Set up"),
        ("add", "servers.add", "Put an MCP server behind Switchboard", "Set up"),
        ("remove", "servers.remove", "Take an MCP server away again", "Set up"),
        ("disable", "servers.disable", "Switch an MCP server off, without removing it", "Set up"),
        ("enable", "servers.enable", "Switch an MCP server on again", "Set up"),
        ("wrap", "wrap", "Let a model turn plain words into calls of one child", "Set up"),
        ("unwrap", "unwrap", "Take the wrapper of a child away again", "Set up"),
        ("trust", "trust", "Let the servers of this workspace run", "Set up"),
        ("vault", "vault", "Keep secrets out of files", "Set up"),
        ("list", "servers.list", "Show the configured servers, starting none", "Use"),
        ("agents", "agents", "Show, check or run the agents that clients have as tools", "Use"),
        ("find", "find", "Find the tools that do what you have in mind", "Use"),
        ("introspect", "introspect", "Show the tools of one suite, or of all", "Use"),
        ("call", "call", "Call a tool of a suite", "Use"),
        ("approvals", "approvals", "Answer what clients want to do", "Use"),
        ("runs", "runs", "Show, follow, cancel or go on with runs of agents", "Use"),
        ("restart", "servers.restart", "Start an MCP server of the daemon anew", "Use"),
        ("tokens", "tokens", "Count the tokens that suites save", "Use"),
        ("mcp", "mcp", "Serve one client on stdin and stdout; what a client launches", "Serve"),
        ("codex", "codex", "Serve `codex` and `codex-reply`, as Codex itself did once", "Serve"),
        ("bridge", "bridge", "Serve one server on stdin and stdout, under its own names", "Serve"),
        ("serve", "serve", "Serve on stdin and stdout, or over HTTP", "Serve"),
        ("natural", "natural", "Serve one server as `natural_language` alone", "Serve"),
        ("daemon", "daemon", "Start, stop or restart the daemon, or show its log", "Serve"),
        ("status", "status", "Show the daemon's sessions, boards and children", "Look closer"),
        ("events", "events", "Show what happens in the daemon", "Look closer"),
        ("logs", "servers.logs", "Show what an MCP server prints on stderr", "Look closer"),
        ("egress", "egress", "Show what a server with chosen hosts reached", "Look closer"),
        ("audit", "audit", "Show what was called, and check that the log is whole", "Look closer"),
        ("config", "config", "Check, show or explain the configuration", "Look closer"),
        ("doctor", "doctor", "Find what is wrong, and say what to type next", "Look closer"),
        ("completion", "completion", "Print the completion script of a shell", "Look closer"),
        ("help", "help", "Explain a command", "Look closer"),
        ("version", "version", "Print the version", "Look closer"),
    )
}


def loaded(module: str) -> ModuleType:
    """A module of this table, imported when it is needed first."""
    __import__(module)
    return sys.modules[module]
