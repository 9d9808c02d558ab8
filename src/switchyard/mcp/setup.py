"""Setting up a client: `install`, `config` and `projects`."""

import os
from pathlib import Path
from typing import Any

from switchyard.mcp import codex
from switchyard.project.configuration import config_of
from switchyard.project.home import Home, default_home
from switchyard.project.registry import Registry, alias_taken
from switchyard.project.scope import FILE_NAME, ProjectScope

DEFAULT_NAME = "switchyard"


def _block(scope: ProjectScope, name: str | None) -> codex.Block:
    chosen = name or DEFAULT_NAME
    given = os.environ.get("SWITCHYARD_HOME")
    home = str(Path(given).expanduser().absolute()) if given else None
    return codex.make_block(chosen, scope.root, home)


def _registry(block: codex.Block) -> Registry:
    """The registry the server will look in: the one its block already names, if it names one."""
    if block.home is None:
        named = codex.configured_home(codex.config_path(), block.name)
        if named is not None:
            return Registry(Home(Path(named)))
    return Registry(default_home())


def _told(
    scope: ProjectScope, block: codex.Block, registry: Registry, alias: str
) -> dict[str, Any]:
    return {
        "name": block.name,
        "toml": block.toml(),
        "command": block.command,
        "executable": block.executable,
        "config_path": str(codex.config_path()),
        "alias": {"name": block.name, "root": str(scope.root), "registration": alias},
        "registered": alias in ("created", "unchanged", "repointed"),
        "home": str(registry.home.path),
        "state_path": str(registry.home.state),
    }


def _check_alias(registry: Registry, name: str, root: Path, *, force: bool) -> None:
    there = registry.read().aliases.get(name)
    if there is not None and there != root and not force:
        raise alias_taken(name, there)


def config(scope: ProjectScope, *, name: str | None, force: bool, dry_run: bool) -> dict[str, Any]:
    """The block to paste; the alias is registered, unless it is a dry run."""
    project = config_of(scope)
    block = _block(scope, name)
    registry = _registry(block)
    _check_alias(registry, block.name, scope.root, force=force)
    if dry_run:
        return _told(scope, block, registry, "dry-run")
    registry.register(scope.root, project.name)
    return _told(scope, block, registry, registry.alias(block.name, scope.root, force=force))


def install(scope: ProjectScope, *, name: str | None, force: bool, dry_run: bool) -> dict[str, Any]:
    """Write the block into the Codex configuration and register the alias."""
    project = config_of(scope)
    block = _block(scope, name)
    path = codex.config_path()
    registry = _registry(block)
    _check_alias(registry, block.name, scope.root, force=force)
    before = codex.read_text(path)
    text = codex.spliced(path, before, block)
    if dry_run:
        return _told(scope, block, registry, "dry-run") | {
            "written": False,
            "changed": text != before,
        }
    registry.register(scope.root, project.name)
    alias = registry.alias(block.name, scope.root, force=force)
    if text != before:
        codex.write_config(path, text)
    return _told(scope, block, registry, alias) | {
        "written": text != before,
        "changed": text != before,
    }


def projects() -> dict[str, Any]:
    """Every registered alias, and whether it still points to a project."""
    home = default_home()
    state = Registry(home).read()
    rows: list[dict[str, Any]] = []
    for name, root in sorted(state.aliases.items()):
        exists, has_config = root.is_dir(), (root / FILE_NAME).is_file()
        rows.append(
            {
                "name": name,
                "root": str(root),
                "exists": exists,
                "has_config": has_config,
                "stale": not has_config,
            }
        )
    return {"home": str(home.path), "state_path": str(home.state), "projects": rows}
