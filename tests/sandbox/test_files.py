"""The files of the host: what a confined program reads, writes, renames and links."""

import asyncio
import os
import pwd
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from sandbox.den import INTERPRETER, SECRET, Den
from support.requirements import requirement

KNOWN_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()

READ = """
import json, sys
found = {}
for path in sys.argv[1:]:
    try:
        found[path] = open(path).read()
    except OSError as error:
        found[path] = error.errno
print(json.dumps(found))
"""

# Tries to write each path, with the folders above it; goes on after each failure.
WRITE = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "a").write("changed")
    except OSError:
        pass
"""

RENAME = """
import os, sys
here, away, hook = sys.argv[1:]
try:
    os.rename(here, away)
except OSError:
    pass
try:
    os.makedirs(os.path.dirname(hook), exist_ok=True)
    open(hook, "w").write("evil")
except OSError:
    pass
"""


@pytest.fixture
def house() -> Generator[Den]:
    """A den that lies in no temporary folder: those are hidden anyway."""
    place = Path(__file__).parents[2] / ".pytest_cache"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Den(Path(folder))


@requirement("S3.18", "S3.96")
async def test_secrets_of_the_home_cannot_be_read(house: Den) -> None:
    names = (".ssh/id_ed25519", ".aws/credentials", ".bashrc")
    secrets = [str(house.home / name) for name in names]
    plain = (await house.python(READ, *secrets, profile="none")).said
    assert set(plain.values()) == {SECRET}
    confined = (await house.python(READ, *secrets)).said
    assert SECRET not in confined.values()


async def test_the_home_that_the_system_knows_is_hidden_too(den: Den) -> None:
    """`HOME` may name another folder than the one that holds the keys."""
    known = str(KNOWN_HOME)
    listing = await den.python(f"import os; print(*os.listdir({known!r}), sep='\\n')")
    assert listing.status == 0
    # The interpreter that runs this may lie in it.
    assert set(listing.stdout.split()) <= set(INTERPRETER.parts)


async def test_secrets_of_the_machine_cannot_be_read(den: Den) -> None:
    secrets = ["/etc/shadow", "/etc/gshadow"]
    confined = (await den.python(READ, *secrets)).said
    assert all(isinstance(found, int) for found in confined.values())


async def test_an_environment_file_of_the_workspace_cannot_be_read_unless_allowed(
    den: Den,
) -> None:
    names = (".env", ".env.local", ".env.staging", "nested/.env", "nested/app/.env", "a/b/c/.env")
    den.repository("nested")
    for name in names:
        (den.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (den.workspace / name).write_text(SECRET)
    (den.workspace / ".env.example").write_text("an example")
    paths = [str(den.workspace / name) for name in names]
    example = str(den.workspace / ".env.example")
    confined = (await den.python(READ, *paths, example)).said
    assert confined.pop(example) == "an example"
    assert SECRET not in confined.values()
    allowed = (await den.python(READ, *paths, read_env_files=True)).said
    assert set(allowed.values()) == {SECRET}


async def test_an_environment_file_of_a_read_root_cannot_be_read_either(den: Den) -> None:
    data = den.home / "data"
    (data / "app").mkdir(parents=True)
    names = (".env", "app/.env", "app/plain")
    for name in names:
        (data / name).write_text(SECRET)
    paths = [str(data / name) for name in names]
    found = (await den.python(READ, *paths, read_roots=(str(data),))).said
    assert found.pop(paths[-1]) == SECRET
    assert SECRET not in found.values()


async def test_a_folder_that_is_renamed_takes_along_what_is_hidden_in_it(den: Den) -> None:
    (den.workspace / "app").mkdir()
    (den.workspace / "app" / ".env").write_text(SECRET)
    rename = "import os; os.rename('app', 'other'); os.system('cat other/.env; ln other/.env x')"
    ended = await den.python(rename)
    assert (den.workspace / "other").exists()
    assert SECRET not in ended.stdout
    assert not (den.workspace / "x").exists()


async def test_switchboards_own_folder_stays_hidden_inside_what_is_opened(den: Den) -> None:
    own = den.home / "tools" / "switchboard"
    own.mkdir(parents=True)
    (own / "token").write_text(SECRET)
    (own.parent / "readme").write_text("hello")
    opened: dict[str, Any] = {"read_roots": (str(own.parent),), "hidden": (str(own),)}
    paths = [str(own / "token"), str(own.parent / "readme")]
    found = (await den.python(READ, *paths, **opened)).said
    assert found[paths[1]] == "hello"
    assert found[paths[0]] != SECRET


@requirement("S3.18")
async def test_nothing_is_written_outside_the_workspace(house: Den) -> None:
    home, workspace, outside = house.home, house.workspace, house.workspace.parent / "outside"
    outside.mkdir()
    targets = [home / ".bashrc", home / "new", outside / "new", Path("/etc/switchboard-x")]
    await house.python(WRITE, *map(str, [*targets, workspace / "allowed"]))
    assert (home / ".bashrc").read_text() == SECRET
    assert not any(target.exists() for target in targets[1:])
    assert (workspace / "allowed").read_text() == "changed"


async def test_the_state_folder_and_further_roots_can_be_written(den: Den, tmp_path: Path) -> None:
    further = tmp_path / "further"
    further.mkdir()
    places = [den.state / "kept", further / "kept"]
    await den.python(WRITE, *map(str, places), writable_roots=(str(further),))
    assert [place.read_text() for place in places] == ["changed", "changed"]


async def test_a_read_root_can_be_read_and_not_written(den: Den) -> None:
    tools = den.home / "tools"
    tools.mkdir()
    tool = tools / "tool"
    tool.write_text("a tool")
    opened: dict[str, Any] = {"read_roots": (str(tools),)}
    assert (await den.python(READ, str(tool), **opened)).said == {str(tool): "a tool"}
    await den.python(WRITE, str(tool), **opened)
    assert tool.read_text() == "a tool"


async def test_a_read_root_inside_the_workspace_is_protected(den: Den) -> None:
    kept = den.workspace / "kept"
    kept.mkdir()
    await den.python(WRITE, str(kept / "new"), read_roots=(str(kept),))
    assert not (kept / "new").exists()


PROTECTED = (
    ".git/hooks/pre-commit",
    ".git/config",
    ".vscode/tasks.json",
    ".switchboard/mcp.json",
    ".claude/settings.json",
    ".mcp.json",
    ".envrc",
    ".npmrc",
    ".husky/pre-push",
    "compose.yaml",
    "docker-compose.override.yml",
    "justfile",
    "Procfile",
)


@pytest.mark.parametrize("place", [".", "nested", "deep/er/nested"])
async def test_what_runs_later_outside_cannot_be_written(den: Den, place: str) -> None:
    root = den.repository(place)
    for name in PROTECTED:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("as it was")
    paths = [root / name for name in PROTECTED]
    await den.python(WRITE, *(str(path) for path in (*paths, root / "source.py")))
    assert {path.read_text() for path in paths} == {"as it was"}
    assert (root / "source.py").read_text() == "changed"


@pytest.mark.parametrize(
    ("repository", "renamed"),
    [
        (".", ".git"),
        ("nested", "nested"),
        ("nested", "nested/.git"),
        ("deep/er/nested", "deep"),
        ("deep/er/nested", "deep/er"),
    ],
)
async def test_a_repository_cannot_be_renamed_away_and_made_anew(
    den: Den, repository: str, renamed: str
) -> None:
    hook = den.repository(repository) / ".git" / "hooks" / "pre-commit"
    here, away = den.workspace / renamed, den.workspace / "away"
    await den.python(RENAME, str(here), str(away), str(hook))
    assert here.exists()
    assert not away.exists()
    assert not hook.exists()
    # The same program does all this where nothing confines it.
    await den.python(RENAME, str(here), str(away), str(hook), profile="none")
    assert hook.read_text() == "evil"


async def test_links_to_a_secret_lead_nowhere(den: Den) -> None:
    secret = den.home / ".ssh" / "id_ed25519"
    program = """
import json, os, sys
secret, soft, hard = sys.argv[1:]
found = []
for make, place in ((os.symlink, soft), (os.link, hard)):
    try:
        make(secret, place)
        found.append(open(place).read())
    except OSError as error:
        found.append(error.errno)
print(json.dumps(found))
"""
    soft, hard = den.workspace / "soft", den.workspace / "hard"
    found = (await den.python(program, str(secret), str(soft), str(hard))).said
    assert SECRET not in found
    assert not hard.exists()


GIT_BYPASS = """
import os, shutil, sys
git, trace = sys.argv[1:]
try:
    os.makedirs(f"{git}/evil", exist_ok=True)
    for name in ("objects", "refs"):
        shutil.copytree(f"{git}/{name}", f"{git}/evil/{name}")
    settings = open(f"{git}/config").read() + f'[core]\\n\\tfsmonitor = "touch {trace}; false"\\n'
    open(f"{git}/evil/config", "w").write(settings)
    open(f"{git}/commondir", "w").write("evil\\n")
except OSError:
    pass
"""


async def git(folder: Path, *words: str) -> None:
    process = await asyncio.create_subprocess_exec("git", *words, cwd=folder, stdout=-3, stderr=-3)
    await asyncio.wait_for(process.wait(), 30)


@pytest.mark.parametrize("profile", ["default", "none"])
async def test_git_cannot_be_made_to_run_a_command_when_its_user_looks_at_the_repository(
    den: Den, profile: str
) -> None:
    """Hooks and settings are left alone; git is told to take them from elsewhere."""
    trace = den.home / "trace"
    await git(den.workspace, "init", "--quiet")
    await den.python(GIT_BYPASS, str(den.workspace / ".git"), str(trace), profile=profile)
    await git(den.workspace, "status")
    # Where nothing confines it, it works: so this is the attack that it is meant to be.
    assert trace.exists() == (profile == "none")


async def test_whoever_opens_a_repository_for_git_still_protects_what_git_runs(den: Den) -> None:
    await git(den.workspace, "init", "--quiet")
    opened: dict[str, Any] = {"writable_roots": (str(den.workspace / ".git"),)}
    (den.workspace / "file").write_text("x")
    done = await den.run(("git", "add", "file"), **opened)
    assert done.status == 0, done.stderr
    assert (den.workspace / ".git" / "index").exists()
    hook = den.workspace / ".git" / "hooks" / "pre-commit"
    await den.python(WRITE, str(hook), **opened)
    assert not hook.exists()


async def test_a_worktree_cannot_be_pointed_at_another_repository(den: Den) -> None:
    pointer = den.workspace / ".git"
    pointer.write_text("gitdir: elsewhere\n")
    await den.python(WRITE, str(pointer))
    assert pointer.read_text() == "gitdir: elsewhere\n"


async def test_temporary_folders_are_its_own(den: Den) -> None:
    marker = f"switchboard-{os.getpid()}-{den.workspace.parent.name}"
    program = (
        "import sys, os; [open(p, 'w').close() for p in sys.argv[1:]]; print(os.listdir('/tmp'))"
    )
    places = [f"/tmp/{marker}", f"/var/tmp/{marker}"]
    ended = await den.python(program, *places)
    assert ended.status == 0
    assert not any(map(os.path.exists, places))


async def test_a_temporary_folder_that_is_not_there_is_replaced(den: Den) -> None:
    program = "import tempfile; print(tempfile.mkstemp()[1])"
    ended = await den.python(program, env={"TMPDIR": str(den.home / "tmp")})
    assert ended.stdout.startswith("/tmp/"), ended.stderr
