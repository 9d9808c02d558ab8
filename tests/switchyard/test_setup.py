"""Setting a client up: path-free, reversible, and with every other byte of the file kept."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from yardlab import Json, Lab

from support.requirements import requirement

SIMPLE = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'
USERS = """# my settings
model = "gpt-5"   # keep me

[mcp_servers.other]
command = "other"
args = [
  "[mcp_servers.switchyard]",
]

[mcp_servers.switchyard]
# mine
startup_timeout_sec = 99
command = "old"
args = ["x",
  "y"]
cwd = "/somewhere"

[mcp_servers.switchyard.env]
# my variable
MINE = "1"
SWITCHYARD_HOME = "/old"

[mcp_servers.switchyard.tools.switchyard_up]
approval_mode = "approve"

[projects."/a"]
trust_level = "trusted"
"""


@pytest.fixture
def shop(lab: Lab) -> Lab:
    """Give a project with one service."""
    lab.config(SIMPLE)
    return lab


def config_file(lab: Lab) -> Path:
    return lab.codex / "config.toml"


def server(lab: Lab, name: str = "switchyard") -> Json:
    return tomllib.loads(config_file(lab).read_text())["mcp_servers"][name]


def aliases(lab: Lab) -> dict[str, Json]:
    return {one["name"]: one for one in lab.json("mcp", "projects", cwd=lab.folder)["projects"]}


@requirement("S1.10", "S1.11", "S1.12", "S1.13", "S1.15", "S1.16", "S1.17", "S1.66")
def test_install_writes_a_block_without_a_path(shop: Lab) -> None:
    deep = shop.root / "a" / "b"
    deep.mkdir(parents=True)
    made = shop.json("mcp", "install", cwd=deep)
    text = config_file(shop).read_text()
    assert server(shop)["command"] == "switchyard"
    assert server(shop)["args"] == ["mcp", "--project", "switchyard"]
    assert "cwd" not in text
    assert str(shop.root) not in text
    assert made["alias"]["registration"] == "created"
    assert list(aliases(shop)) == ["switchyard"]
    assert aliases(shop)["switchyard"]["root"] == str(shop.root)
    state = json.loads((shop.home / "state.json").read_text())
    assert state["project_aliases"] == {"switchyard": {"root": str(shop.root)}}


@requirement("S1.10")
def test_without_codex_home_the_users_own_folder_is_used(shop: Lab) -> None:
    env = {key: one for key, one in shop.env.items() if key != "CODEX_HOME"}
    subprocess.run(
        [sys.executable, "-m", "switchyard", "mcp", "install"],
        cwd=shop.root,
        env=env,
        check=True,
        capture_output=True,
    )
    assert (shop.folder / "user" / ".codex" / "config.toml").exists()


@requirement("S1.18")
def test_a_chosen_home_is_passed_on(shop: Lab) -> None:
    shop.json("mcp", "install")
    assert server(shop)["env"] == {"SWITCHYARD_HOME": str(shop.home)}


@requirement("S1.19")
def test_the_usual_home_adds_no_env_table(shop: Lab) -> None:
    env = {key: one for key, one in shop.env.items() if key != "SWITCHYARD_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "switchyard", "mcp", "install"],
        cwd=shop.root,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "env" not in server(shop)
    assert "SWITCHYARD_HOME" not in done.stdout
    assert (shop.folder / "user" / ".switchyard" / "state.json").exists()


@requirement("S1.20", "S1.21", "S1.22")
def test_config_prints_the_block_and_registers_the_alias(shop: Lab) -> None:
    text = shop.sy("mcp", "config").out
    assert tomllib.loads(text)["mcp_servers"]["switchyard"]["args"][2] == "switchyard"
    assert not config_file(shop).exists()
    assert "switchyard" in aliases(shop)
    assert "registered" in text
    made = shop.json("mcp", "config")
    assert made["ok"] is True
    assert made["toml"] in text
    assert made["command"] == ["switchyard", "mcp", "--project", "switchyard"]
    assert made["alias"]["registration"] == "unchanged"


@requirement("S1.14", "S1.17")
def test_without_an_executable_the_interpreter_is_launched_and_the_block_says_why(
    shop: Lab,
) -> None:
    env = {"PATH": "/usr/bin:/bin"}
    made = shop.sy("mcp", "install", env=env).out
    assert made.splitlines()[1].startswith("# No `switchyard` executable is visible")
    block = server(shop)
    assert block["command"] == sys.executable
    assert block["args"] == ["-m", "switchyard", "mcp", "--project", "switchyard"]
    live = subprocess.run(
        [block["command"], *block["args"]],
        cwd="/",
        env={**env, **block["env"]},
        input='{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(live.stdout)["id"] == 1
    before = config_file(shop).read_text()
    again = shop.sy("mcp", "install", "--json", env=env).json
    assert (again["written"], again["changed"]) == (False, False)
    assert config_file(shop).read_text() == before
    shop.json("mcp", "install")
    assert server(shop)["command"] == "switchyard"
    assert "# No" not in config_file(shop).read_text()


@requirement("S1.17")
def test_programs_inside_the_project_are_never_written_down(shop: Lab) -> None:
    local = shop.root / ".venv" / "bin"
    local.mkdir(parents=True)
    (local / "python").symlink_to(sys.executable)
    (local / "switchyard").write_text("#!/bin/sh\n")
    (local / "switchyard").chmod(0o755)
    for step in ("config", "install"):
        done = subprocess.run(
            [str(local / "python"), "-m", "switchyard", "mcp", step, "--json"],
            cwd=shop.root,
            env={
                **shop.env,
                "PATH": f"{local}:/usr/bin:/bin",
                "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        told = json.loads(done.stdout)
        assert (done.returncode, told["ok"], told["action"]) == (4, False, f"mcp.{step}")
        assert told["error"]["code"] == "no-executable"
        assert "belongs to the project" in told["error"]["message"]
    assert not config_file(shop).exists()
    assert not shop.home.exists()


@requirement("S1.23")
def test_a_setup_error_is_json_and_an_exit_code(shop: Lab) -> None:
    outside = shop.json("mcp", "config", cwd=shop.folder, code=2)
    assert outside["ok"] is False
    assert outside["error"]["code"] == "no-project"
    wrong = shop.sy("mcp", "install", "--name", "a b", "--json", code=2).json
    assert (wrong["ok"], wrong["error"]["code"]) == (False, "bad-name")
    shop.codex.mkdir()
    config_file(shop).write_text("not = = toml")
    invalid = shop.json("mcp", "install", code=2)
    assert invalid["error"]["code"] == "codex-config-invalid"
    assert not shop.home.exists()
    assert config_file(shop).read_text() == "not = = toml"


@requirement("S1.24", "S1.25", "S1.26")
def test_an_alias_moves_only_when_forced(shop: Lab) -> None:
    shop.json("mcp", "install", "--name", "mine")
    assert server(shop, "mine")["args"] == ["mcp", "--project", "mine"]
    other = shop.folder / "other"
    other.mkdir()
    (other / "switchyard.toml").write_text('[services.x]\ncommand = "x"\n')
    before = config_file(shop).read_text()
    for step in ("install", "config"):
        refused = shop.json("mcp", step, "--name", "mine", cwd=other, code=4)
        assert refused["error"]["code"] == "alias-taken"
    assert config_file(shop).read_text() == before
    assert aliases(shop)["mine"]["root"] == str(shop.root)
    shop.json("mcp", "config", "--name", "mine", "--force", cwd=other)
    assert aliases(shop)["mine"]["root"] == str(other)
    shutil.rmtree(other)
    refused = shop.json("mcp", "config", "--name", "mine", code=4)
    assert refused["error"]["code"] == "alias-taken"
    shop.json("mcp", "config", "--name", "mine", "--force")
    assert aliases(shop)["mine"]["root"] == str(shop.root)


@requirement("S1.27", "S1.28", "S1.78")
def test_projects_are_listed_from_anywhere_and_stale_ones_show(shop: Lab) -> None:
    shop.json("mcp", "config", "--name", "one")
    found = shop.json("mcp", "projects", cwd=Path("/"))
    assert found["home"] == str(shop.home)
    assert found["state_path"] == str(shop.home / "state.json")
    assert (found["projects"][0]["exists"], found["projects"][0]["stale"]) == (True, False)
    (shop.root / "switchyard.toml").unlink()
    row = shop.json("mcp", "projects", cwd=Path("/"))["projects"][0]
    assert (row["exists"], row["has_config"], row["stale"]) == (True, False, True)
    gone = shop.sy("mcp", "--project", "one", cwd=Path("/"), code=2)
    assert "switchyard mcp install --name one" in gone.err


@requirement("S1.29", "S1.30", "S1.31", "S1.32", "S1.33", "S1.34")
def test_smoke_proves_the_setup_and_touches_nothing(shop: Lab) -> None:
    found = shop.json("mcp", "smoke")
    assert found["passed"] is True
    names = {one["name"] for one in found["checks"]}
    assert names >= {
        "dry_run_registers_nothing",
        "config_has_no_project_path",
        "install_writes_block",
        "alias_is_registered",
        "configured_command_answers",
        "brief_is_of_this_project",
    }
    assert not shop.home.exists()
    assert not shop.codex.exists()
    assert list((shop.folder / "user").iterdir()) == []


@requirement("S1.29", "S1.34")
def test_smoke_fails_when_the_configured_command_cannot_be_launched(shop: Lab) -> None:
    broken = shop.folder / "bin"
    broken.mkdir()
    (broken / "switchyard").write_text("#!/bin/sh\nexit 1\n")
    (broken / "switchyard").chmod(0o755)
    done = shop.sy("mcp", "smoke", "--json", env={"PATH": f"{broken}:/usr/bin:/bin"}, code=1)
    failed = [one["name"] for one in done.json["checks"] if not one["ok"]]
    assert failed == ["configured_command_answers"]


@requirement("S1.14", "S1.34")
def test_smoke_proves_the_fallback_and_any_name(shop: Lab) -> None:
    words = ("mcp", "smoke", "--name", "other", "--json")
    assert shop.sy(*words, env={"PATH": "/usr/bin:/bin"}).json["passed"] is True


def test_a_folder_that_is_not_there_is_refused(shop: Lab) -> None:
    shop.json("mcp", "config", "--cwd", str(shop.root / "nowhere"), code=2)


@requirement("S1.32")
def test_a_dry_run_writes_and_registers_nothing(shop: Lab) -> None:
    made = shop.json("mcp", "install", "--dry-run")
    assert (made["written"], made["registered"]) == (False, False)
    assert tomllib.loads(made["toml"])
    assert not shop.home.exists()
    assert not shop.codex.exists()


@requirement("S1.77")
def test_a_named_project_is_served_from_anywhere(shop: Lab) -> None:
    shop.json("mcp", "install")
    configured = server(shop)
    program = shutil.which(str(configured["command"]), path=shop.env["PATH"])
    assert program
    asked: Json = {"name": "switchyard_doctor", "arguments": {}}
    done = subprocess.run(
        [program, *configured["args"]],
        cwd="/",
        env={"PATH": os.environ["PATH"], **configured["env"]},
        input=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
        + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)["result"]["structuredContent"]
    assert found["root"] == str(shop.root)


def test_every_other_byte_of_the_users_file_is_kept(shop: Lab) -> None:
    shop.codex.mkdir()
    config_file(shop).write_text(USERS)
    config_file(shop).chmod(0o640)
    shop.json("mcp", "install")
    text = config_file(shop).read_text()
    gone = [line for line in USERS.splitlines() if line not in text.splitlines()]
    assert gone == [
        'command = "old"',
        'args = ["x",',
        '  "y"]',
        'cwd = "/somewhere"',
        'SWITCHYARD_HOME = "/old"',
    ]
    found = server(shop)
    assert found["startup_timeout_sec"] == 99
    assert found["env"] == {"MINE": "1", "SWITCHYARD_HOME": str(shop.home)}
    assert found["tools"]["switchyard_up"]["approval_mode"] == "approve"
    assert config_file(shop).stat().st_mode & 0o777 == 0o640
    shop.json("mcp", "install")
    assert config_file(shop).read_text() == text


def test_a_home_named_in_the_block_is_the_one_that_is_used(shop: Lab) -> None:
    shop.json("mcp", "install")
    env = {key: one for key, one in shop.env.items() if key != "SWITCHYARD_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "switchyard", "mcp", "install", "--json"],
        cwd=shop.root,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout)["home"] == str(shop.home)
    assert server(shop)["env"] == {"SWITCHYARD_HOME": str(shop.home)}


def test_a_form_that_cannot_be_edited_safely_is_left_alone(shop: Lab) -> None:
    shop.codex.mkdir()
    text = 'mcp_servers.switchyard = { command = "x" }\n'
    config_file(shop).write_text(text)
    assert shop.json("mcp", "install", code=4)["error"]["code"] == "codex-config-shape"
    assert config_file(shop).read_text() == text


@requirement("S1.76")
def test_cwd_is_a_hidden_way(shop: Lab) -> None:
    assert "--cwd" not in shop.sy("mcp", "--help").out
    assert "--cwd" not in shop.sy("--help").out
    assert "--cwd" not in shop.sy("completion", "bash").out
    done = shop.sy("mcp", "config", "--cwd", str(shop.root), cwd=Path("/"))
    assert "--cwd" not in done.out
    shop.sy("mcp", "--cwd", str(shop.root), "--project", "switchyard", cwd=Path("/"), code=2)


@requirement("S1.75")
def test_the_guide_says_to_keep_approval_on() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "switchyard" / "agents.md").read_text()
    assert "Keep client approval on" in guide
