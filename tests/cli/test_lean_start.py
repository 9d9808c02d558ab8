"""What a command loads is what a client waits for."""

import subprocess
import sys

import pytest

from support.measuring import unmeasured
from support.workspace import Workspace, child_command, server
from switchboard.cli.table import VERBS

# asyncio and msgspec bring `logging` and `textwrap` along; nothing of ours asks for them.
# What a start that reads only files of the home does without, and takes a millisecond or more.
SLOW = {"hashlib", "platform", "unicodedata", "switchboard.core.privacy.cleaning"}
# What few configurations have: files in TOML, limits, a network of chosen hosts, containers,
# servers of a workspace, names that are not plain. And what only changes things, or calls.
UNUSED = {
    *("bisect", "resource", "zlib", "json", "hmac", "ipaddress", "urllib.parse"),
    *("switchboard.config.toml_text", "switchboard.config.writing", "switchkit.toml.positions"),
    *("switchboard.approvals", "switchboard.egress", "switchboard.sandbox"),
    *("switchboard.children.starting.containers", "switchboard.children.starting.start_folder"),
    *("switchboard.settings.fingerprints", "switchboard.settings.trust"),
    *("switchboard.settings.consent.sealed_files", "switchboard.settings.rules"),
    *("switchboard.settings.files.inheriting", "switchkit.containers", "switchkit.locks"),
}
FORBIDDEN = {"argparse", "difflib", "pathlib", "shlex", "tempfile", "typing_extensions"}


def loaded(workspace: Workspace, *words: str) -> set[str]:
    """Give the modules that a command has loaded when it ends."""
    program = (
        "import sys\n"
        "from switchboard.cli.main import main\n"
        f"main({list(words)!r})\n"
        "sys.stderr.write('\\n'.join(('', *sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**unmeasured(workspace.env), "RUST_LOG": "off"},
        cwd=workspace.root,
        check=True,
    )
    return set(done.stderr.splitlines())


def test_help_imports_no_other_verb(workspace: Workspace) -> None:
    verbs = {verb.module for verb in VERBS.values()}
    assert loaded(workspace, "--help") & verbs == {"switchboard.cli.verbs.help"}


@pytest.mark.parametrize("words", [("mcp",), ("serve", "--stdio")])
def test_a_server_loads_only_its_own_verb(workspace: Workspace, words: tuple[str, ...]) -> None:
    workspace.echo_child()
    modules = loaded(workspace, *words)
    verbs = {verb.module for verb in VERBS.values()}
    assert modules & verbs == {f"switchboard.cli.verbs.serving.{words[0]}"}
    assert modules & FORBIDDEN == set()
    assert "bpe_openai" not in modules


def test_the_first_listing_waits_for_nothing_slow(workspace: Workspace) -> None:
    # With it the home would say in TOML that it counts.
    del workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    workspace.mcp_json({"echo": server(child_command("echo_child", "echo"))}, scope="home")
    assert loaded(workspace, "mcp") & (SLOW | UNUSED) == set()
