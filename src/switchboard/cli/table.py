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
        ("setup", "hosts.setup", "Move the MCP servers of your hosts behind Switchboard", "Set up"),
        ("import", "hosts.import_servers", "Take over the MCP servers of your hosts", "Set up"),
        ("install", "hosts.install", "Make Switchboard known to a host", "Set up"),
        ("uninstall", "hosts.uninstall", "Take Switchboard out of a host", "Set up"),
        ("revert", "hosts.revert", "Put the files of your hosts back as they were", "Set up"),
        ("sweep", "hosts.sweep", "End the MCP servers that hosts have left behind", "Set up"),
        ("init", "init", "Prepare this workspace, and say what is left to do", "Set up"),
        ("add", "servers.add", "Put an MCP server behind Switchboard", "Set up"),
        ("remove", "servers.remove", "Remove an MCP server", "Set up"),
        ("disable", "servers.disable", "Switch an MCP server off, without removing it", "Set up"),
        ("enable", "servers.enable", "Switch an MCP server on again", "Set up"),
        ("try", "servers.try_server", "Look at a server in a sandbox, without adding it", "Set up"),
        ("wrap", "wrap", "Let a model turn plain words into calls of one child", "Set up"),
        ("unwrap", "unwrap", "Remove the wrapper of a child", "Set up"),
        ("trust", "trust", "Let the servers of this workspace run", "Set up"),
        ("vault", "vault", "Keep secrets out of files", "Set up"),
        ("login", "login", "Log in to a remote server", "Set up"),
        ("logout", "logout", "End the login at a remote server", "Set up"),
        ("list", "servers.list", "Show the configured servers, starting none", "Use"),
        ("agents", "agents", "Show, check or run the agents that clients have as tools", "Use"),
        ("find", "find", "Find the tools that do what you have in mind", "Use"),
        ("introspect", "introspect", "Show the tools of one suite, or of all", "Use"),
        ("call", "call", "Call a tool of a suite", "Use"),
        ("open", "open_page", "Open the page that shows what runs, and what waits", "Use"),
        ("approvals", "approvals", "Answer what clients want to do", "Use"),
        ("runs", "runs", "Show, follow, cancel or go on with runs of agents", "Use"),
        ("stop", "stop", "End every call, run and question at once", "Use"),
        ("restart", "servers.restart", "Restart an MCP server of the daemon", "Use"),
        ("watch", "servers.watch", "Restart a server whenever its files change", "Use"),
        ("tokens", "tokens", "Count the tokens that suites save", "Use"),
        ("usage", "usage", "Show which tools are used, and which never", "Use"),
        ("mcp", "mcp", "Serve one client on stdin and stdout; what a client launches", "Serve"),
        ("codex", "codex", "Serve `codex` and `codex-reply`, as Codex itself did once", "Serve"),
        ("bridge", "bridge", "Serve one server on stdin and stdout, under its own names", "Serve"),
        ("serve", "serve", "Serve on stdin and stdout, or over HTTP", "Serve"),
        ("natural", "natural", "Serve one server as `natural_language` alone", "Serve"),
        ("daemon", "daemon", "Start, stop or restart the daemon, or show its log", "Serve"),
        ("status", "status", "Show the daemon's sessions, boards and children", "Look closer"),
        ("calls", "calls", "Show the calls that run, and those that ended lately", "Look closer"),
        ("result", "result", "Show what became of a call whose client gave up", "Look closer"),
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
