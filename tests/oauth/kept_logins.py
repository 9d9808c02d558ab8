"""The logins of a workspace as they lie in its vault, for tests that look and change them."""

import time
from pathlib import Path

from msgspec.structs import replace

from support.workspace import Workspace
from switchboard.children.schema import ServerEntry
from switchboard.oauth.grant import Grant, entry_reference
from switchboard.oauth.grant_store import GrantStore
from switchboard.vault.opening import open_vault
from switchboard.vault.options import VaultOptions


def store_of(workspace: Workspace) -> GrantStore:
    """The logins of its home."""
    vault = open_vault(str(workspace.home), VaultOptions(key="own-key-file"), {})
    return GrantStore(str(workspace.home), lambda: vault)


def kept(workspace: Workspace, url: str) -> Grant:
    """The login as it lies in the vault."""
    found = store_of(workspace).find(_reference(url))
    assert found is not None
    return found


def expire(workspace: Workspace, url: str) -> Grant:
    """Have the access token expire, as it does when a machine has slept."""
    old = replace(kept(workspace, url), expires_at=time.time() - 60)
    store_of(workspace).keep(_reference(url), old)
    return old


def _reference(url: str) -> str:
    return entry_reference(ServerEntry(name="notes", transport="http", url=url))


def workspace_with_login_at(tmp_path: Path, url: str, *, daemon: bool) -> Workspace:
    """A workspace with one remote server, whose vault has a key of its own."""
    workspace = Workspace(tmp_path, daemon=daemon)
    workspace.config_toml('[vault]\nkey = "own-key-file"\n', scope="home")
    workspace.mcp_json({"notes": {"url": url}})
    return workspace
