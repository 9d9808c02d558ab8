"""What of a workspace is secret, and what says what runs: by families of names, at any depth."""

import subprocess
from pathlib import Path

import pytest

from sandbox.den import SECRET, Den
from sandbox.test_files import READ, WRITE
from support.requirements import attack
from switchboard.sandbox.walls.guarded_names import is_protected, is_secret
from switchboard.sandbox.walls.inventory import inventory

HIDDEN = (
    *(".env", ".envrc", ".env-local", "prod.env", ".npmrc", ".netrc", ".git-credentials"),
    *("node_modules/pkg/.env", "target/.env", ".venv/.env", "a/b/c/d/e/f/.env", "keys/id_rsa"),
    *("deploy/terraform.tfvars", "sub/.aws/credentials", "a/b/c/d/.pypirc"),
)
KEPT = (
    *("AGENTS.md", "CLAUDE.md", ".cursorrules", ".github/workflows/x.yml", ".devcontainer/x.json"),
    *(".yarnrc.yml", "mise.toml", "lefthook.yml", ".zed/tasks.json", ".gemini/settings.json"),
    *(".agh/x", "switchboard.config.json", "switchyard.toml", "pkg/.vscode/tasks.json"),
    *("pkg/AGENTS.md", "a/b/c/d/.claude/settings.json", "node_modules/pkg/.git/hooks/post-merge"),
    # Nobody named these: every setting of a repository is kept.
    *(".some-new-tool/hooks.json", ".next-agent-rules"),
)
FREE = ("source.py", ".cache/x", ".gitignore", ".pytest_cache/x", "pkg/notes.md", "Makefile")


def written(den: Den, names: tuple[str, ...], text: str) -> list[str]:
    paths = [den.workspace / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [str(path) for path in paths]


def changed(paths: list[str]) -> list[str]:
    return [each for each in paths if "changed" in Path(each).read_text()]


@attack("B23")
async def test_secrets_are_hidden_at_any_depth(den: Den) -> None:
    paths = written(den, HIDDEN, SECRET)
    examples = written(den, (".env.example", "app/.env.sample"), "an example")
    said = (await den.python(READ, *paths, *examples)).said
    assert [said.pop(path) for path in examples] == ["an example"] * 2
    assert {path for path, found in said.items() if found == SECRET} == set()


@attack("B23")
async def test_what_instructs_tools_and_agents_is_kept_at_any_depth(den: Den) -> None:
    den.repository()
    kept = written(den, KEPT, "as it was")
    free = written(den, FREE, "as it was")
    await den.python(WRITE, *kept, *free)
    assert changed(kept) == []
    assert changed(free) == free


@pytest.mark.parametrize(
    "setting",
    [
        "url = https://me:ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@example.org/x.git",
        "url = https://ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@example.org/x.git",
        "extraheader = AUTHORIZATION: basic eDp5",
    ],
)
async def test_settings_of_a_repository_that_hold_a_token_are_hidden(
    den: Den, setting: str
) -> None:
    config = den.repository("nested") / ".git" / "config"
    plain = den.repository() / ".git" / "config"
    config.write_text(f'[remote "origin"]\n\t{setting}\n')
    said = (await den.python(READ, str(config), str(plain))).said
    assert isinstance(said[str(config)], int)
    assert said[str(plain)] == "[core]\n"


async def test_a_link_between_words_for_agents_may_stay(den: Den) -> None:
    (den.workspace / "AGENTS.md").write_text("as it was")
    (den.workspace / "CLAUDE.md").symlink_to("AGENTS.md")
    await den.python(WRITE, str(den.workspace / "CLAUDE.md"))
    assert (den.workspace / "AGENTS.md").read_text() == "as it was"


def test_a_large_workspace_is_looked_through_nearest_first_and_quickly_again(den: Den) -> None:
    for number in range(60):
        folder = den.workspace / "node_modules" / f"p{number}" / "lib"
        folder.mkdir(parents=True)
    written(den, ("node_modules/p1/.env", "z/deep/.env"), SECRET)
    root = str(den.workspace)
    # What others have written comes last.
    places = ["z/deep/.env", "node_modules/p1/.env"]
    assert inventory(root).secrets == [f"{root}/{place}" for place in places]
    # A folder that got another file is looked at anew, although it says that it is old.
    subprocess.run(["touch", "-d", "@1", den.workspace / "z" / "deep"], check=True)
    (den.workspace / "z" / "deep" / ".env.other").touch()
    subprocess.run(["touch", "-d", "@1", den.workspace / "z" / "deep"], check=True)
    assert f"{root}/z/deep/.env.other" in inventory(root).secrets


def test_names() -> None:
    assert all(map(is_secret, (".env.production", ".env_x", "id_ed25519", "x.p12", ".netrc")))
    keys = ("x.pem", "tls.key", "id_github", "AuthKey_1.p8")
    assert all(map(is_secret, keys))
    # What is made of an example is none, wherever its name says so.
    assert all(map(is_secret, ("prod-default.env", "app.template.env", ".env.default.local")))
    assert not any(map(is_secret, (".env.example", "environment.py", "env", "key.py", "id_map.py")))
    assert not any(map(is_secret, ("cacert.pem", "ca-bundle.pem", "fullchain.pem", "id_rsa.pub")))
    assert not any(map(is_secret, (".env.local.example", "example.env")))
    assert not is_protected(".mypy_cache", in_repository=True)
    assert not is_protected(".anything", in_repository=False)
