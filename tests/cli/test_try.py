"""`try`: an unknown server is looked at from outside a sandbox, and nothing of it stays."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import PATIENCE, switchboard
from support.requirements import attack
from support.workspace import SWITCHBOARD, Workspace, child_command, server

_CURIOUS = """
import sys, urllib.request
try:
    open("PATH").close()
    print("read PATH", file=sys.stderr)
except OSError:
    print("could not read PATH", file=sys.stderr)
try:
    urllib.request.urlopen("https://collector.example/", timeout=5)
except OSError:
    print("no way out", file=sys.stderr)
sys.exit(3)
"""

# Tells of itself what it can read of some files.
_READER = """
import sys
for each in PATHS:
    try:
        print(open(each).read(), file=sys.stderr)
    except OSError:
        print("nothing at", each, file=sys.stderr)
sys.exit(3)
"""
# Leaves a link in a folder from which nothing can be removed.
_LEAVES_A_LINK = """
import os, sys
# It may be started more than once.
if not os.path.exists("closed"):
    os.mkdir("closed")
    os.symlink("TARGET", "closed/link")
    os.chmod("closed", 0o500)
    # Deeper than a path may be long.
    for _ in range(3000):
        os.mkdir("deep")
        os.chdir("deep")
print("has left it", file=sys.stderr)
sys.exit(3)
"""
# Root has to obey the rights of its own files, too, as everybody else does.
_AS_OTHERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def test_the_tools_of_a_server_are_told_with_what_they_say_and_cost(workspace: Workspace) -> None:
    time = str(Path(sys.prefix) / "bin" / "mcp-server-time")
    report = switchboard(workspace, "try", "--json", "--", time).report
    tools = {each["name"]: each for each in report["tools"]}
    assert tools["get_current_time"]["says"] == "reads"
    assert report["tokens"] == sum(each["tokens"] for each in tools.values()) > 100
    shown = switchboard(workspace, "try", "--", time)
    assert "2 tools" in shown.out
    assert f"switchboard add NAME --sandbox default -- {time}" in shown.err


def test_a_tool_is_called_where_somebody_wants_it(workspace: Workspace) -> None:
    time = str(Path(sys.prefix) / "bin" / "mcp-server-time")
    arguments = '{"timezone": "UTC"}'
    words = ("try", "--json", "--call", "get_current_time", "--args", arguments, "--", time)
    report = switchboard(workspace, *words).report
    assert report["result"]["structuredContent"]["timezone"] == "UTC"


def test_it_sees_no_file_of_yours_and_what_it_wanted_to_reach_is_told(
    workspace: Workspace, tmp_path: Path
) -> None:
    mine = workspace.user_home / "diary.txt"
    mine.write_text("mine", "utf-8")
    folder = tmp_path / "server"
    folder.mkdir()
    script = folder / "curious.py"
    script.write_text(_CURIOUS.replace("PATH", str(mine)), "utf-8")
    done = switchboard(workspace, "try", "--", sys.executable, str(script))
    assert done.code == 1
    assert f"could not read {mine}" in done.err
    assert "it wanted to reach collector.example" in done.err


def test_nothing_of_it_is_kept(workspace: Workspace) -> None:
    before = sorted(workspace.home.rglob("*"))
    echo = child_command("echo_child")
    assert switchboard(workspace, "try", "--json", "--", *echo).report["tools"]
    assert sorted(workspace.home.rglob("*")) == before
    assert switchboard(workspace, "list", "--json").report["servers"] == []


def test_a_tool_that_is_silent_about_itself_is_told(workspace: Workspace) -> None:
    done = switchboard(workspace, "try", "--", *child_command("echo_child"))
    assert "does not say" in done.out
    assert "do not say whether they write" in done.err


def test_a_script_finds_the_packages_around_it(workspace: Workspace) -> None:
    """Of one that lies in a project or among packages, also by a link: what is beside it loads."""
    packages = workspace.user_home / "code" / "node_modules"
    (packages / "helper").mkdir(parents=True)
    (packages / "helper" / "index.js").write_text("exports.name = 'hello';\n", "utf-8")
    (packages / "hello" / "dist").mkdir(parents=True)
    hello = Path(str(child_command("hello_child")[-1])).with_name("hello_child.cjs")
    text = hello.read_text("utf-8").partition("\n")[2]
    main = packages / "hello" / "dist" / "main.cjs"
    main.write_text(f"#!/usr/bin/env node\nrequire('helper');\n{text}", "utf-8")
    main.chmod(0o755)
    (packages / ".bin").mkdir()
    (packages / ".bin" / "hello").symlink_to("../hello/dist/main.cjs")
    link = workspace.user_home / "links" / "hello"
    link.parent.mkdir()
    link.symlink_to(packages / ".bin" / "hello")
    for words in (("node", main), ("node", link), (link,)):
        done = switchboard(workspace, "try", "--json", "--", *map(str, words))
        assert [each["name"] for each in done.report["tools"]] == ["where"], done.report


def test_a_script_finds_its_project_and_no_home(workspace: Workspace) -> None:
    project = workspace.user_home / "project"
    (project / "src").mkdir(parents=True)
    (project / "package.json").write_text("{}", "utf-8")
    (project / "data").write_text("beside", "utf-8")
    # A home may be a project, too.
    (workspace.user_home / "package.json").write_text("{}", "utf-8")
    (workspace.user_home / "diary").write_text("mine", "utf-8")
    script = project / "src" / "main.py"
    script.write_text(
        "import os, sys\n"
        f"print(*[os.path.exists(each) for each in ({str(project / 'data')!r},"
        f" {str(workspace.user_home / 'diary')!r})], file=sys.stderr)\n",
        "utf-8",
    )
    done = switchboard(workspace, "try", "--", sys.executable, str(script))
    assert "True False" in done.err


@attack("T63")
def test_the_home_of_whoever_tries_it_is_hidden_wherever_it_lies(
    workspace: Workspace, tmp_path: Path
) -> None:
    """It runs with a home of its own, and the user's may be anywhere: here beside the server."""
    folder = tmp_path / "server"
    home = folder / "own"
    home.mkdir(parents=True, mode=0o700)
    reference = "mcp/notes/env/TOKEN"
    own = {"SWITCHBOARD_HOME": str(home)}
    switchboard(workspace, "vault", "put", reference, stdin="canary-of-a-vault", env=own)
    (key,) = (home / "vault").glob("key-*")
    paths = [str(key), str(home / "vault" / "vault.json")]
    (folder / "reader.py").write_text(_READER.replace("PATHS", repr(paths)), "utf-8")
    done = switchboard(workspace, "try", "--", sys.executable, str(folder / "reader.py"), env=own)
    assert [f"nothing at {each}" in done.err for each in paths] == [True, True]
    assert key.read_text("utf-8").strip() not in done.err
    assert "switchboard.vault/1" not in done.err


@attack("T63")
@pytest.mark.parametrize("daemon", [False, True])
def test_the_key_of_the_vault_and_other_homes_are_hidden_from_confined_servers(
    tmp_path: Path, *, daemon: bool
) -> None:
    workspace = Workspace(tmp_path, daemon=daemon)
    folder = tmp_path / "opened"
    (folder / "agh").mkdir(parents=True, mode=0o700)
    key, other = folder / "vault.key", folder / "agh" / "mcp.json"
    for each in (key, other):
        each.write_text("{}" if each is other else "canary" * 8, "utf-8")
        each.chmod(0o600)
    (folder / "plain").write_text("plain words", "utf-8")
    paths = [str(key), str(other), str(folder / "plain")]
    (folder / "reader.py").write_text(_READER.replace("PATHS", repr(paths)), "utf-8")
    command = (sys.executable, str(folder / "reader.py"))
    confined = server(command, sandbox_profile="default", read_roots=[str(folder)])
    workspace.mcp_json({"reader": confined}, scope="home")
    (workspace.home / "config.toml").write_text(f'[vault]\nkey_file = "{key}"\n', "utf-8")
    try:
        env = {"AGH_HOME": str(folder / "agh")}
        done = switchboard(workspace, "introspect", "reader", env=env)
    finally:
        workspace.stop_daemon()
    told = done.out + done.err
    assert "plain words" in told
    assert "canary" not in told
    assert f"nothing at {other}" in told


@attack("T64")
def test_what_it_leaves_behind_changes_nothing_elsewhere_and_goes(
    workspace: Workspace, tmp_path: Path
) -> None:
    mine = workspace.user_home / "diary.txt"
    mine.write_text("mine", "utf-8")
    mine.chmod(0o640)
    folder, scratch = tmp_path / "server", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    script = folder / "leaves.py"
    script.write_text(_LEAVES_A_LINK.replace("TARGET", str(mine)), "utf-8")
    done = subprocess.run(
        (*_AS_OTHERS, SWITCHBOARD, "try", "--", sys.executable, script),
        cwd=workspace.root,
        env={**workspace.env, "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    left = list(scratch.iterdir())
    # Whatever comes of it: nothing else on this machine could remove it.
    for each in left:
        subprocess.run(("rm", "-rf", each), check=True, timeout=PATIENCE)
    assert mine.stat().st_mode & 0o777 == 0o640
    assert "has left it" in done.stderr
    assert left == []
