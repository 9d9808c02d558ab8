"""A host: where it keeps its servers, and how it spells them."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from switchboard.hosts.edits.edit import Format

# `user` is for every project of its user, `project` for one folder.
HostScope = Literal["user", "project"]
# What a host makes of an address without a word about its transport.
BareUrl = Literal["http", "sse", "refused"]
# How a host fills variables in: not at all; `${NAME}`; `${env:NAME}` with its folders and what it
# asks its user; `${NAME}` and `$NAME`; `{env:NAME}`; or `$NAME` from the entry itself.
Filling = Literal["none", "braces", "env", "dollar", "env-braces", "own"]


_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Spelling(Struct, frozen=True, kw_only=True):
    """How a host writes the fields of a server; unwritten is what most do."""

    command: str = "command"
    # The command and its arguments are one list.
    is_one_list: bool = False
    env: str = "env"
    # Variables that are passed on by name, and those that the host keeps in the keychain.
    env_names: str = ""
    kept_names: str = ""
    # In the order in which they count, with the transport that each of them means; "" leaves it to
    # `type`, or to what the host makes of a bare address.
    urls: tuple[tuple[str, str], ...] = (("url", ""),)
    headers: str = "headers"
    # Headers whose values are names of variables, and the variable with a bearer token.
    named_headers: str = ""
    named_bearer: str = ""
    cwd: str = "cwd"
    filling: Filling = "braces"
    type: str = "type"
    bare_url: BareUrl = "http"
    # The key of the timeout of a call, a dot for each step, and what one unit of it is in seconds.
    # A number above the most is meant in milliseconds, whatever the unit.
    timeout: str = ""
    timeout_unit_s: float = 1.0
    timeout_least: float = 0.0
    timeout_most: float = 0.0
    # Keys that hold tools which the host lets through, or hides.
    allowed_tools: str = ""
    hidden_tools: str = ""
    # Keys that say that a server is not its user's: the host, an extension or a firm brought it.
    brought: tuple[str, ...] = ()


class ServersFile(Struct, frozen=True, kw_only=True):
    """A file in which a host keeps servers.

    The path begins with `~` for the home, with a variable and what counts where it is not set
    (`{XDG_CONFIG_HOME|~/.config}`), or is relative to a project.
    """

    path: str
    form: Format
    # The keys that lead to the servers.
    servers: tuple[str, ...]
    scope: HostScope = "user"
    # Where the servers of one project lie in a file of the user, before `servers`, and the list
    # there of those that are switched off.
    projects: str = ""
    off_in_project: str = ""
    # Lists of servers that alone are used, if there are any, and of those that are not.
    only: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    # Several hosts read it, or a team shares it: never changed without a yes of its own.
    is_shared: bool = False
    # Where it is on macOS, if that is elsewhere.
    darwin: str = ""
    # Paths by variables which count instead, the first that is set.
    instead: tuple[str, ...] = ()
    # Looked at where it is, and never made.
    is_only_if_there: bool = False
    # What is there when the host does not look at this file any more.
    left_by: str = ""


class HostGrant(Struct, frozen=True, kw_only=True):
    """What tells a host not to ask about us: an item of a list, or a member if it has a name.

    `{tool}` in it stands for each tool of ours that only reads. Written after a yes of its own.
    """

    keys: tuple[str, ...]
    value: Any
    name: str = ""
    # Empty for the file that our entry is in.
    path: str = ""
    form: Format = "json"
    # Only where our gate asks: it lets everything of ours through.
    is_for_gate: bool = False
    # Only where the key is there already.
    needs_key: bool = False
    # Only where a member there, whose name is a pattern, has the host ask: it does not by itself.
    needs_asking: bool = False


class Host(Struct, frozen=True, kw_only=True):
    """One host, and what it needs to work at its best with us."""

    id: str
    title: str
    # In the order in which they are looked at; of those that are alternatives the first that exists
    # is the one, and the first of all where none does.
    files: tuple[ServersFile, ...]
    spelling: Spelling = Spelling()
    # The program that shows that the host is here, beside its files.
    program: str = ""
    # How the version of the program begins, where two versions read one file differently.
    version: str = ""
    # What our entry has beside the command and its arguments.
    entry: Mapping[str, Any] = field(default_factory=dict[str, Any])
    # The same only where our gate asks.
    guarded_entry: Mapping[str, Any] = field(default_factory=dict[str, Any])
    # The key of our entry for tools that only read, about which the host need not ask.
    reading_key: str = ""
    grants: tuple[HostGrant, ...] = ()
    # Files of a project that have rules in the same words.
    rule_files: tuple[str, ...] = ()
    # Variables that the host does not pass on, by which the shim finds its daemon.
    passes_no_variables: bool = False
    # How long the name of a tool of ours may be, beside the words that the host puts before it; and
    # whether it takes letters, digits and `_` alone. Longer ones are cut, renamed or left out.
    tool_letters: int = 64
    takes_plain_names: bool = False
    # Its word for the folder, where it starts us elsewhere; in a project file only.
    workspace: str = ""
    # It holds a folder `<file>.lock` while it writes.
    has_lock: bool = False
    # Why we only say what to write, and write nothing ourselves.
    only_told: str = ""
    # What its user should know.
    remark: str = ""
    # The command that lists the servers of the host, which is how we know that it sees ours.
    lists: tuple[str, ...] = ()

    def takes_tool(self, name: str) -> bool:
        """Whether it shows a tool of this name under this name."""
        is_plain = _PLAIN_NAME.fullmatch(name) is not None
        return len(name) <= self.tool_letters and (is_plain or not self.takes_plain_names)

    @property
    def tool_rule(self) -> str:
        """What it takes, in words."""
        plain = ", beginning with a letter, of letters, digits and `_`"
        return f"a name has at most {self.tool_letters} letters" + (
            plain if self.takes_plain_names else ""
        )
