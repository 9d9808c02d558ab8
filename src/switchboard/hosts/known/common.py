"""What the entries of many hosts have in common."""

from switchboard.hosts.host import ServersFile, Spelling

# As long as a person may take to answer.
LONGEST_S = 3_600
LONGEST_MS = LONGEST_S * 1000
STARTING_S = 30
CONFIG = "{XDG_CONFIG_HOME|~/.config}"
MAC = "~/Library/Application Support"
SERVERS = ("mcpServers",)
UNFILLED = Spelling(filling="none")


def in_project(path: str, servers: tuple[str, ...] = SERVERS) -> ServersFile:
    """A file of one project, with comments."""
    return ServersFile(path=path, form="jsonc", servers=servers, scope="project")
