"""Another provider takes one folder and one line, and everything else knows it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.mcp_stdio import talking_to
from support.workspace import Workspace

PLUG = Path(__file__).parent / "dummy_source.py"
# As in the table, before anything else is loaded.
LINE = 'TABLE["dummy"] = Row(module="dummy.source", section="dummy")'
PROGRAM = (
    "from switchboard.providers.table import TABLE, Row\n"
    f"{LINE}\n"
    "import sys\n"
    "from switchboard.cli.main import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)
GUARDED = "enable_mcp_server_surface = true\napproval_channel = 'none'\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    folder = tmp_path / "plugs" / "dummy"
    folder.mkdir(parents=True)
    (folder / "source.py").write_text(PLUG.read_text("utf-8"), "utf-8")
    workspace = Workspace(tmp_path)
    workspace.env["PYTHONPATH"] = str(folder.parent)
    workspace.config_toml(GUARDED + "[dummy]\ngreeting = 'ahoy'\n", scope="home")
    return workspace


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *words]


def report(workspace: Workspace, words: Sequence[str], code: int = 0) -> Any:
    done = subprocess.run(
        command(*words, "--json"),
        cwd=workspace.root,
        env=workspace.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


async def test_it_is_listed_called_gated_and_audited(workspace: Workspace) -> None:
    async with talking_to(
        command("serve", "--stdio"), cwd=workspace.root, env=workspace.env
    ) as client:
        await client.initialize()
        tools = await client.tools()
        assert tools["greet"]["description"] == "ahoy"
        greeted = await client.call("greet", {})
        assert greeted["content"][0]["text"] == "ahoy from greet"
        refused = await client.call("shout", {})
        assert refused["isError"]
        assert "ahoy from" not in json.dumps(refused)
        await client.close()
    records = report(workspace, ["audit", "tail"])["records"]
    seen = {(each["record"].get("tool"), each["record"].get("provider")) for each in records}
    assert {("greet", "dummy"), ("shout", "dummy")} <= seen


def test_its_section_is_checked_and_explained(workspace: Workspace) -> None:
    explained = report(workspace, ["config", "explain", "dummy.greeting"])
    assert explained["value"] == "ahoy"
    assert "config.toml" in explained["origin"]
    workspace.config_toml("[dummy]\ngreting = 'ahoy'\n", scope="home")
    problems = json.dumps(report(workspace, ["config", "check"], code=2))
    assert "did you mean `greeting`" in problems


def test_its_default_is_explained_where_nobody_sets_it(workspace: Workspace) -> None:
    workspace.config_toml("", scope="home")
    explained = report(workspace, ["config", "explain", "dummy.greeting"])
    assert (explained["value"], explained["origin"]) == ("hello", "default")


def test_doctor_shows_what_it_finds(workspace: Workspace) -> None:
    workspace.config_toml("[dummy]\n", scope="home")
    found = report(workspace, ["doctor"])["findings"]
    assert ("dummy", "it has no words of its own") in {
        (each["subject"], each["message"]) for each in found
    }


def test_nobody_loads_it_where_it_is_not_configured(workspace: Workspace) -> None:
    workspace.config_toml("", scope="home")
    program = PROGRAM.replace("sys.exit(main(sys.argv[1:]))", "main(['list'])") + (
        "assert 'dummy.source' not in sys.modules, 'loaded'\n"
        "assert not [name for name in sys.modules if name.startswith(\n"
        "    ('switchboard.providers.commands', 'switchboard.providers.yard'))], 'loaded'\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], cwd=workspace.root, env=workspace.env, check=True
    )
