"""What `switchboard serve --stdio` may load before a host has its first answers.

A host waits for these imports each time that it starts. What only some sessions need, like HTTP,
YAML or argument schemas, is loaded when it is needed.
"""

import re
import subprocess
import sys
from pathlib import Path

from support.mcp_stdio import talking_to
from support.measuring import unmeasured
from support.workspace import Workspace

LOADED_LATER = {
    "argparse": "the command line of a server needs no parser of options",
    "cryptography": "only who has a secret in the vault needs it",
    "dbos": "only a run needs it",
    "h11": "only the HTTP surface and networks of chosen hosts need it",
    "httpx2": "only remote children need it",
    "hvac": "as `cryptography`",
    "jsonschema_rs": "only a call with arguments needs it",
    "keyring": "as `cryptography`",
    "mcp": "the SDK is a partner in tests",
    "psycopg": "only a team has a database",
    "pydantic": "values are structs",
    "sqlalchemy": "as `dbos`",
    "sqlite3": "only approvals, the audit log and runs need it",
    "starlette": "only the HTTP surface needs it",
    "uvicorn": "only the HTTP surface needs it",
    "yaml": "only front matter needs it",
}
_LINE = re.compile(r"^import time:.*\|\s*(?P<name>[\w.]+)$", re.MULTILINE)


async def test_the_first_answers_need_no_heavy_import(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    program, *arguments = workspace.command("serve", "--stdio")
    command = [sys.executable, "-X", "importtime", program, *arguments]
    async with talking_to(command, cwd=workspace.root, env=unmeasured(workspace.env)) as client:
        await client.initialize()
        assert set(await client.tools()) == {"echo_suite"}
        await client.close()
        loaded = {name.split(".")[0] for name in _LINE.findall(client.stderr)}
    assert "msgspec" in loaded
    assert loaded & set(LOADED_LATER) == set()


def test_the_plug_of_agents_loads_nothing_of_runs_and_engines_but_what_files_are_read_into() -> (
    None
):
    told = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import sys, switchboard.providers.agents.source; print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = ("switchboard.engines.", "switchboard.runs.")
    loaded = {name for name in told.stdout.split() if name.startswith(rows)}
    assert loaded == {"switchboard.engines.profile", "switchboard.runs.limits"}
