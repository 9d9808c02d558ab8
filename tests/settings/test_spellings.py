"""However a command line spells the path of its code, a change of that code asks again."""

from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, switchboard
from settings.ground import Ground
from support.requirements import attack
from support.workspace import Workspace, server
from switchboard.children.schema import Seal, ServerEntry
from switchboard.settings.consent.sealed_files import digests_of_files
from switchboard.settings.trust import still_trusted, trust

SERVER = "sub/inner/server.py"
# Each of them runs the same file.
TEXTS = [
    "exec python3 $PWD/sub/inner/server.py",
    'exec python3 "${PWD}/sub/inner/server.py"',
    'cd "$(pwd)/sub/inner" && exec python3 server.py',
    "exec python3 `pwd`/sub/inner/server.py",
    "exec python3 sub/inner/serv*.py",
    "exec python3 sub/*/server.py",
    "exec python3 sub/inner/[rs]erver.p?",
    "exec python3 sub/inner/ser\\ver.py",
    "exec python3 sub/inner/ser\\\nver.py",
    "exec python3 sub/inner/'server'.py",
    'exec python3 sub/"in"ner/server.py',
    "exec python3 ~+/sub/inner/server.py",
    "exec python3 sub/inner/ser{ver,x}.py",
    "for f in sub/inner/*.py; do exec python3 $f; done",
    "d=sub; e=inner; exec python3 $d/$e/server.py",
    "exec python3 sub/inner/server$NOBODY_SETS_THIS.py",
    "exec python3 ${NOBODY_SETS_THIS:-sub/inner/server.py}",
    'exec python3 "$APP"',
    "exec python3 $WHERE/inner/server.py",
    "bash -c 'exec python3 sub/inner/ser\\ver.py'",
]
LINES = {
    "a module behind other switches": ["python3", "-um", "sub.inner.server"],
    "a module joined to them": ["python3", "-Bmsub.inner.server"],
    "an import": ["python3", "-c", "import os, sub.inner.server"],
    "an import of a name": ["python3", "-c", "from sub.inner.server import main"],
    "a folder of modules": ["env", "PYTHONPATH=sub/inner", "python3", "-c", "pass"],
    "an alias of git": ["git", "-c", "alias.x=!python3 $PWD/sub/inner/server.py", "x"],
    "a word behind a text": ["bash", "-c", "exec python3 $0/ser$1.py", "sub/inner", "ver"],
    "a text of npx": ["npx", "-c", "python3 $PWD/sub/inner/ser*.py"],
    "a text behind an option": ["bash", "-c", "-o", "errexit", "python3 $PWD/sub/inner/ser*.py"],
    "a shell of another name": ["my-shell", "-lc", "python3 $PWD/sub/inner/ser*.py"],
    "a text of nix": ["nix-shell", "--run", "python3 $PWD/sub/inner/ser*.py"],
    "archives of java": ["java", "-cp", "sub/inner/*", "Main"],
}
UNSPELT = [
    ["sh", "-c", "exec python3 $(ls sub/inner | head -1)"],
    ["sh", "-c", "exec python3 `cat which.txt`"],
    ["sh", "-c", "eval exec python3 sub/inner/server.py"],
    ["sh", "-c", "read x < which.txt; exec python3 $x"],
    ["sh", "-c", "cd sub\nread x < which.txt\nexec python3 $x"],
    ["sh", "-c", "while IFS=: read x; do exec python3 $x; done < which.txt"],
    ["bash", "-c", "exec python3 $'sub/inner/\\x73erver.py'"],
    ["bash", "-c", "exec python3 sub/inner/server${#}.py"],
    ["bash", "-c", "exec python3 sub/inner/${APP%x}"],
    ["bash", "-c", "exec python3 sub/inner/$SHLVL.py"],
    ["bash", "-c", "exec python3 sub/inner/{1..3}.py"],
    ["bash", "-c", "set -- sub/inner; exec python3 $1/server.py"],
    ["sh", "-c", "for f in server; do exec python3 sub/inner/$f.py; done"],
    ["sh", "-c", "a=sub; a=$a/inner; exec python3 $a/server.py"],
    ["sh", "-c", "a=sub'/inner'; exec python3 $a/server.py"],
    ["sh", "-c", 'b=inner; a="sub/$b"; exec python3 $a/server.py'],
    ["sh", "-c", ": ${a:=sub}; exec python3 $a/inner/server.py"],
    ["bash", "-c", "a=(sub); exec python3 $a/inner/server.py"],
    ["sh", "-c", "ls sub/inner/* | xargs python3"],
    ["xargs", "-a", "list.txt", "python3"],
    ["find", "sub", "-name", "s*.py", "-exec", "python3", "{}", ";"],
    ["node", "--import=data:text/javascript,import%20%22file:///x.mjs%22", "-e", "0"],
]


def _entry(ground: Ground, words: list[str]) -> None:
    env = {"APP": f"{ground.workspace}/{SERVER}", "WHERE": "sub"}
    entry = {"command": words[0], "args": words[1:], "env": env if "-c" in words else {}}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})


def _trusted(ground: Ground, words: list[str]) -> ServerEntry:
    _write(ground.workspace, "good")
    _entry(ground, words)
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    return trusted


def _write(workspace: Path, text: str) -> None:
    (workspace / SERVER).parent.mkdir(parents=True, exist_ok=True)
    (workspace / SERVER).write_text(text, "utf-8")


def _asks_again(ground: Ground, words: list[str]) -> bool:
    trusted = _trusted(ground, words)
    assert still_trusted(trusted, str(ground.workspace))
    _write(ground.workspace, "evil")
    return not still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize("text", TEXTS)
@attack("T41")
def test_a_path_that_a_shell_makes_is_bound(ground: Ground, text: str) -> None:
    assert _asks_again(ground, ["bash", "-c", text])


@attack("T41")
def test_a_path_below_the_home_is_bound(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(ground.workspace.parent))
    name = ground.workspace.name
    assert _asks_again(ground, ["sh", "-c", f"exec python3 ~/{name}/{SERVER}"])
    assert _asks_again(ground, ["sh", "-c", f"exec python3 $HOME/{name}/sub/inner/ser*.py"])


@pytest.mark.parametrize("line", LINES)
@attack("T41")
def test_a_path_that_another_program_makes_is_bound(ground: Ground, line: str) -> None:
    assert _asks_again(ground, LINES[line])


@attack("T41")
def test_no_folder_is_one_too_many(ground: Ground) -> None:
    for number in range(12):
        (ground.workspace / f"d{number}").mkdir()
    dirs = [word for number in range(12) for word in ("-I", f"d{number}")]
    assert _asks_again(ground, ["env", *dirs, "-C", "sub", "-C", "inner", "python3", "server.py"])


@pytest.mark.parametrize("words", UNSPELT, ids=" ".join)
@attack("T41")
def test_what_only_the_shell_can_tell_is_bound_to_every_file(
    ground: Ground, words: list[str]
) -> None:
    ground.put(ground.workspace / "which.txt", "sub/inner/server.py")
    trusted = _trusted(ground, words)
    assert still_trusted(trusted, str(ground.workspace))
    ground.put(ground.workspace / "which.txt", "sub/inner/another.py")
    assert not still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize("words", UNSPELT, ids=" ".join)
@attack("T41")
def test_so_is_a_lasting_answer_for_it(tmp_path: Path, words: list[str]) -> None:
    seal = Seal(stated="", words=tuple(words), cwd=str(tmp_path))
    before = digests_of_files(seal, str(tmp_path))
    (tmp_path / "any.txt").write_text("1", "utf-8")
    assert digests_of_files(seal, str(tmp_path)) != before


@attack("T41")
def test_many_folders_are_bound_with_all_that_they_hold(ground: Ground) -> None:
    for number in range(40):
        (ground.workspace / f"d{number}").mkdir()
    trusted = _trusted(ground, ["tool", *(f"d{number}" for number in range(40))])
    ground.put(ground.workspace / "d39" / "x", "evil")
    assert not still_trusted(trusted, str(ground.workspace))


@attack("T41")
def test_trust_says_that_any_change_asks_again_and_what_to_do(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, daemon=False)
    workspace.mcp_json({"x": server(["sh", "-c", "exec python3 $(cat which.txt)"])})
    (item,) = switchboard(workspace, "trust", "--json", env=UNTRUSTING).report["entries"]
    (told,) = (each for each in item["details"] if "any change" in each)
    assert told.startswith("it is started by a text that we cannot follow: any change of a file")
    assert "switchboard trust --dev x" in told


@pytest.mark.parametrize(
    "text",
    [
        'exec npx -y some-server --key "$API_KEY"',
        'export TOKEN="$MY_TOKEN"; exec uvx some-server --port ${PORT:-80}',
        'cd sub && exec python3 inner/server.py "$@"',
        "exec some-server --scope read --mode parallel",
        "source ~/.profile && exec some-server --json '{\"a\": [1, 2]}'",
    ],
)
def test_usual_texts_can_be_trusted(ground: Ground, text: str) -> None:
    assert still_trusted(_trusted(ground, ["sh", "-c", text]), str(ground.workspace))
