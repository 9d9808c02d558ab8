"""Whether Codex can be used here is said before anything runs, with what to do about it."""

import json
from pathlib import Path

import pytest

from support.hosts import codex_program
from support.workspace import NODE_MODULES
from switchboard.engines.codex.engine import CodexEngine
from switchboard.engines.codex.program import find_program
from switchkit.reaper_client import Reaper

# Not the one of npm's own folder for programs: two packages claim the name.
LAUNCHER = NODE_MODULES / "@openai" / "codex" / "bin" / "codex.js"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".codex").mkdir()
    return tmp_path


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of programs with what npm puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "codex").symlink_to(LAUNCHER)
    return folder


def env_of(home: Path, path: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": f"{path}:/usr/bin:/bin"}


def fake_program(folder: Path, says: str) -> Path:
    """A program called codex that says this when it is asked for its version."""
    folder.mkdir()
    program = folder / "codex"
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return folder


def log_in(home: Path) -> None:
    (home / ".codex" / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": "sk-x"}))


async def readiness(env: dict[str, str], program: str = "") -> tuple[str, str, str]:
    reaper = Reaper()
    try:
        found = await CodexEngine(reaper=reaper, program=program).ready(env)
    finally:
        reaper.close()
    return found.version, found.problem, found.hint


async def test_a_missing_codex_is_a_problem_that_says_how_to_install_it(home: Path) -> None:
    version, problem, hint = await readiness({"HOME": str(home), "PATH": str(home)})
    assert version == ""
    assert "was not found" in problem
    assert "npm install" in hint


async def test_a_codex_that_is_too_old_is_a_problem(home: Path, tmp_path: Path) -> None:
    log_in(home)
    folder = fake_program(tmp_path / "old", "codex-cli 0.120.0")
    version, problem, hint = await readiness(env_of(home, folder))
    assert version == "0.120.0"
    assert "too old" in problem
    assert "update" in hint


async def test_a_codex_that_is_newer_than_the_tests_is_only_remarked(
    home: Path, tmp_path: Path
) -> None:
    log_in(home)
    folder = fake_program(tmp_path / "new", "codex-cli 0.999.1")
    version, problem, hint = await readiness(env_of(home, folder))
    assert (version, problem) == ("0.999.1", "")
    assert "newer" in hint


async def test_a_program_that_tells_no_version_is_a_problem(home: Path, tmp_path: Path) -> None:
    log_in(home)
    folder = fake_program(tmp_path / "odd", "hello")
    assert (await readiness(env_of(home, folder)))[1] == "Codex does not tell its version"


async def test_a_codex_without_a_login_is_a_problem_that_says_how_to_log_in(
    home: Path, installed: Path
) -> None:
    version, problem, hint = await readiness(env_of(home, installed))
    assert version == "0.166.0"
    assert problem == "Codex has no login"
    assert "codex login" in hint


PROVIDER = 'model_provider = "mine"\n[model_providers.mine]\nname = "mine"\nbase_url = "http://x"\n'


@pytest.mark.parametrize("how", ["login", "provider", "key"])
async def test_a_login_or_a_provider_of_ones_own_will_do(
    home: Path, installed: Path, how: str
) -> None:
    if how == "login":
        log_in(home)
    elif how == "provider":
        (home / ".codex" / "config.toml").write_text(PROVIDER)
    env = env_of(home, installed)
    if how == "key":
        env["OPENAI_API_KEY"] = "sk-x"
    assert await readiness(env) == ("0.166.0", "", "")


async def test_a_login_that_the_keyring_keeps_is_a_problem(home: Path, installed: Path) -> None:
    (home / ".codex" / "config.toml").write_text('cli_auth_credentials_store = "keyring"\n')
    _, problem, hint = await readiness(env_of(home, installed))
    assert "keyring" in problem
    assert "file" in hint


async def test_settings_of_codex_that_cannot_be_read_are_a_problem(
    home: Path, installed: Path
) -> None:
    log_in(home)
    (home / ".codex" / "config.toml").write_text("model = [")
    _, problem, hint = await readiness(env_of(home, installed))
    assert "config.toml" in problem
    assert hint


def test_the_launcher_of_npm_is_resolved_to_the_native_program(installed: Path) -> None:
    found = find_program("", {"PATH": str(installed)})
    assert found is not None
    assert Path(found.path) == codex_program().resolve()
    assert find_program(str(installed / "codex"), {"PATH": ""}) == found
    assert (Path(found.helpers) / "rg").exists()


def test_the_launcher_of_an_alias_finds_its_own_program() -> None:
    launcher = NODE_MODULES / "codex-oracle" / "bin" / "codex.js"
    found = find_program(str(launcher), {"PATH": ""})
    assert found is not None
    assert Path(found.path) == codex_program("codex-oracle").resolve()
