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

_TABLE = {
    "Set up": (
        ("setup", "hosts.setup", "Move the MCP servers of your hosts behind Switchboard"),
        ("import", "hosts.import_servers", "Take over the MCP servers of your hosts"),
        ("install", "hosts.install", "Make Switchboard known to a host"),
        ("uninstall", "hosts.uninstall", "Take Switchboard out of a host"),
        ("revert", "hosts.revert", "Put the files of your hosts back as they were"),
        ("sweep", "hosts.sweep", "End the MCP servers that hosts have left behind"),
        ("init", "init", "Prepare this workspace, and say what is left to do"),
        ("add", "servers.add", "Put an MCP server behind Switchboard"),
        ("remove", "servers.remove", "Remove an MCP server"),
        ("disable", "servers.disable", "Switch an MCP server off, without removing it"),
        ("enable", "servers.enable", "Switch an MCP server on again"),
        ("try", "servers.try_server", "Look at a server in a sandbox, without adding it"),
        ("wrap", "plain_words.wrap", "Let a model turn plain words into calls of one child"),
        ("unwrap", "plain_words.unwrap", "Remove the wrapper of a child"),
        ("trust", "consent.trust", "Let the servers of this workspace run"),
        ("vault", "consent.vault", "Keep secrets out of files"),
        ("login", "consent.login", "Log in to a remote server"),
        ("logout", "consent.logout", "End the login at a remote server"),
    ),
    "Use": (
        ("list", "servers.list", "Show the configured servers, starting none"),
        ("agents", "agents.agents", "Show, check or run the agents that clients have as tools"),
        ("find", "calling.find", "Find the tools that do what you have in mind"),
        ("introspect", "calling.introspect", "Show the tools of one suite, or of all"),
        ("call", "calling.call", "Call a tool of a suite"),
        ("open", "open_page", "Open the page that shows what runs, and what waits"),
        ("approvals", "consent.approvals", "Answer what clients want to do"),
        ("runs", "agents.runs", "Show, follow, cancel or go on with runs of agents"),
        ("stop", "calling.stop", "End every call, run and question at once"),
        ("restart", "servers.restart", "Restart an MCP server of the daemon"),
        ("watch", "servers.watch", "Restart a server whenever its files change"),
        ("tokens", "calling.tokens", "Count the tokens that suites save"),
        ("usage", "calling.usage", "Show which tools are used, and which never"),
    ),
    "Serve": (
        ("mcp", "serving.mcp", "Serve one client on stdin and stdout; what a client launches"),
        ("codex", "serving.codex", "Serve `codex` and `codex-reply`, as Codex itself did once"),
        ("bridge", "serving.bridge", "Serve one server on stdin and stdout, under its own names"),
        ("serve", "serving.serve", "Serve on stdin and stdout, or over HTTP"),
        ("worker", "serving.worker", "Do the runs of agents that the gateways of a team take in"),
        (
            "state",
            "serving.state",
            "Move the state of this home to the database of a team, or back",
        ),
        ("natural", "plain_words.natural", "Serve one server as `natural_language` alone"),
        ("daemon", "serving.daemon", "Start, stop or restart the daemon, or show its log"),
    ),
    "Look closer": (
        ("status", "status", "Show the daemon's sessions, boards and children"),
        ("calls", "calling.calls", "Show the calls that run, and those that ended lately"),
        ("result", "calling.result", "Show what became of a call whose client gave up"),
        ("events", "events", "Show what happens in the daemon"),
        ("logs", "servers.logs", "Show what an MCP server prints on stderr"),
        ("egress", "egress", "Show what a server with chosen hosts reached"),
        ("audit", "audit", "Show what was called, and check that the log is whole"),
        ("config", "config", "Check, show or explain the configuration"),
        ("doctor", "doctor", "Find what is wrong, and say what to type next"),
        ("completion", "completion", "Print the completion script of a shell"),
        ("help", "help", "Explain a command"),
        ("version", "version", "Print the version"),
    ),
}
VERBS: dict[str, Verb] = {
    name: Verb(_VERBS + module, summary, group)
    for group, rows in _TABLE.items()
    for name, module, summary in rows
}


def loaded(module: str) -> ModuleType:
    """A module of this table, imported when it is needed first."""
    __import__(module)
    return sys.modules[module]
