"""Files that programs obey without being told their names are part of what was trusted."""

from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, switchboard
from settings.ground import Ground
from support.requirements import attack
from support.workspace import Workspace, server
from switchboard.children.schema import Seal, ServerEntry
from switchboard.settings.consent.sealed_files import digests_of_files
from switchboard.settings.trust import still_trusted, trust

TOLD = "any change of a file in this folder asks again"
# What is run, and what it obeys.
OBEYED = [
    ("docker compose run mcp", "compose.yaml"),
    ("docker compose run mcp", "docker-compose.override.yml"),
    ("docker compose --project-directory sub run mcp", "sub/docker-compose.yml"),
    ("docker compose --project-directory sub run mcp", "sub/.env"),
    ("docker-compose run mcp", "docker-compose.yml"),
    ("podman-compose run mcp", "compose.yml"),
    ("docker build sub", "sub/Dockerfile"),
    ("ninja -C sub", "sub/build.ninja"),
    ("scons -C sub", "sub/SConstruct"),
    ("invoke -r sub serve", "sub/tasks.py"),
    ("fab -r sub x", "sub/fabfile.py"),
    ("cmake --build sub", "sub/CMakeCache.txt"),
    ("ant serve", "build.xml"),
    ("gulp serve", "gulpfile.js"),
    ("turbo run x", "turbo.json"),
    ("nx run x", "nx.json"),
    ("pm2 start", "ecosystem.config.js"),
    ("foreman start", "Procfile"),
    ("honcho start", ".env"),
    ("clj -M:mcp", "deps.edn"),
    ("swift run --package-path sub", "sub/Package.swift"),
    ("zig build run", "build.zig"),
    ("stack run", "stack.yaml"),
    ("pixi run mcp", "pixi.toml"),
    ("devbox run mcp", "devbox.json"),
    ("bazel run //:mcp", "BUILD.bazel"),
    ("vagrant ssh", "Vagrantfile"),
    ("fastmcp run", "fastmcp.json"),
    ("mage -d sub x", "sub/magefile.go"),
    ("java @jvm.args", "jvm.args"),
    ("cargo run", ".cargo/config.toml"),
    ("gradle run", "build.gradle.kts"),
    ("gradle run", "settings.gradle"),
    ("gradle run", "settings.gradle.kts"),
    ("mix run", "mix.exs"),
    ("lein run", "project.clj"),
    ("sbt run", "build.sbt"),
    ("nix run", "flake.nix"),
    ("nix-shell --run x", "shell.nix"),
    ("nix-shell --run x", "default.nix"),
    ("pipenv run x", "Pipfile"),
    ("task x", "Taskfile.yaml"),
    ("mise run x", ".mise.toml"),
    ("mise run x", ".config/mise/config.toml"),
    ("just -f x", ".justfile"),
    ("go run example.org/x", "go.work"),
    ("hatch run x", "hatch.toml"),
    ("pdm run x", "pdm.toml"),
    ("poetry run x", "poetry.toml"),
    ("tox run", "tox.toml"),
    ("rake x", "rakefile"),
    ("yarn x", ".pnp.cjs"),
    ("pnpm x", "package.yaml"),
    ("pnpm x", "package.json5"),
    ("bundle exec x", ".bundle/config"),
    ("node --run x", "package.json"),
    ("git -C sub x", "sub/.git/config"),
    ("git -C sub x", "sub/.git/hooks/post-checkout"),
    ("git --git-dir=sub/g x", "sub/g/config"),
    ("git x", ".git/config"),
    ("run-parts sub", "sub/a"),
    # Of programs that nobody has heard of.
    ("some-runner serve", "compose.yaml"),
    ("some-runner --in sub", "sub/Somefile"),
    ("some-runner", "some-runner.config.js"),
    ("some-runner", ".somerc"),
]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _trusted(ground: Ground, *words: str) -> ServerEntry:
    entry = {"command": words[0], "args": list(words[1:])}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    return trusted


@pytest.mark.parametrize(("words", "obeyed"), OBEYED)
@attack("T28")
def test_a_change_of_what_a_program_obeys_asks_again(
    ground: Ground, words: str, obeyed: str
) -> None:
    _write(ground.workspace / obeyed, "good")
    trusted = _trusted(ground, *words.split())
    assert still_trusted(trusted, str(ground.workspace))
    _write(ground.workspace / obeyed, "evil")
    assert not still_trusted(trusted, str(ground.workspace))
    assert ground.load(trusted=False).servers == ()


@pytest.mark.parametrize("words", ["docker compose run mcp", "some-runner serve"])
@attack("T28")
def test_what_a_program_obeys_and_was_not_there_asks_again(ground: Ground, words: str) -> None:
    trusted = _trusted(ground, *words.split())
    _write(ground.workspace / "compose.yaml", "evil")
    assert not still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize("words", ["docker run -i some/image", "python3 server.py"])
def test_what_a_program_does_not_obey_may_change(ground: Ground, words: str) -> None:
    _write(ground.workspace / "server.py", "pass")
    trusted = _trusted(ground, *words.split())
    _write(ground.workspace / "compose.yaml", "other")
    assert still_trusted(trusted, str(ground.workspace))


@attack("T28")
def test_a_lasting_answer_counts_for_what_a_program_obeyed(tmp_path: Path) -> None:
    seal = Seal(stated="", words=("docker", "compose", "run", "mcp"), cwd=str(tmp_path))
    _write(tmp_path / "compose.yaml", "good")
    before = digests_of_files(seal, str(tmp_path))
    _write(tmp_path / "compose.yaml", "evil")
    assert digests_of_files(seal, str(tmp_path)) != before


@attack("T28")
def test_trust_tells_of_every_program_that_may_obey_files(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, daemon=False)
    lines = {
        "unheard": ["some-runner", "serve"],
        "builds": ["docker", "build", "sub"],
        "plain": ["docker", "run", "-i", "some/image"],
    }
    workspace.mcp_json({name: server(words) for name, words in lines.items()})
    items = switchboard(workspace, "trust", "--json", env=UNTRUSTING).report["entries"]
    told = {item["name"] for item in items if any(TOLD in each for each in item["details"])}
    assert told == {"unheard", "builds"}
