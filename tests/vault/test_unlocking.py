"""A vault with a passphrase, and a daemon that is told its key."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import switchboard
from support.daemons import daemon_pid, log_text
from support.workspace import Workspace, child_command, server
from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault
from switchboard.daemon.board.vault_secrets import VaultSecrets
from switchboard.daemon.board.vaults import Vaults
from switchboard.vault.opening import open_file_vault
from switchboard.vault.options import VaultOptions

CANARY = "canary-behind-a-passphrase-5521"
PHRASE = "correct horse canary staple"
TOKEN = "mcp/github/env/GITHUB_TOKEN"
UNLOCK = "switchboard vault unlock"
OPTIONS = VaultOptions(key="passphrase")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    place = Workspace(tmp_path, daemon=True)
    place.config_toml('[vault]\nkey = "passphrase"\n', scope="home")
    entry = server(child_command("echo_child"), secret_env={"GITHUB_TOKEN": f"vault:{TOKEN}"})
    place.mcp_json({"github": entry}, scope="home")
    open_file_vault(str(place.home), OPTIONS, ask=lambda _: PHRASE).put(TOKEN, CANARY)
    yield place
    place.stop_daemon()


@pytest.mark.timeout(120)
def test_the_daemon_is_told_the_key_once_and_forgets_it(workspace: Workspace) -> None:
    locked = json.loads(switchboard(workspace, "call", "github", "report", "--json").out)
    assert (locked["reason"], locked["hint"]) == ("vault-locked", UNLOCK)
    assert UNLOCK in switchboard(workspace, "status").out
    assert UNLOCK in switchboard(workspace, "doctor").out

    wrong = switchboard(workspace, "vault", "unlock", stdin="wrong horse\n")
    assert wrong.code == 1
    assert "the passphrase of the vault is wrong" in wrong.err
    assert "try again" in wrong.err

    # What is locked again at once is of no use to anybody.
    assert switchboard(workspace, "vault", "unlock", stdin=f"{PHRASE}\n").code == 0
    assert "has forgotten" in switchboard(workspace, "vault", "lock").err
    assert "no daemon knew" in switchboard(workspace, "vault", "lock").err
    locked = json.loads(switchboard(workspace, "call", "github", "report", "--json").out)
    assert locked["hint"] == UNLOCK

    assert switchboard(workspace, "vault", "unlock", stdin=f"{PHRASE}\n").code == 0
    assert CANARY in switchboard(workspace, "call", "github", "report").out
    assert json.loads(switchboard(workspace, "status", "--json").out)["daemon"]["vault"] == (
        "unlocked"
    )
    assert "locked" not in switchboard(workspace, "doctor").out.replace("vault unlock", "")

    # Nothing of it lies anywhere, and a restart asks again.
    pid = daemon_pid(workspace)
    seen = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
    switchboard(workspace, "daemon", "restart")
    assert UNLOCK in switchboard(workspace, "call", "github", "report").err
    log = switchboard(workspace, "audit", "export").out
    assert log.count("vault.unlocked") == 2
    written = b"".join(
        path.read_bytes() for path in workspace.user_home.rglob("*") if path.is_file()
    )
    _, key = open_file_vault(str(workspace.home), OPTIONS, ask=lambda _: PHRASE).opening_key()
    for secret in (PHRASE.encode(), CANARY.encode(), key, key.hex().encode()):
        assert secret not in seen + written + log.encode() + log_text(workspace).encode()


def test_a_vault_without_a_passphrase_is_never_locked(tmp_path: Path) -> None:
    place = Workspace(tmp_path, daemon=True)
    place.config_toml('[vault]\nkey = "own-key-file"\n', scope="home")
    none = switchboard(place, "vault", "unlock", stdin="x\n")
    assert "there is none yet" in none.err
    switchboard(place, "vault", "put", TOKEN, stdin=CANARY)
    assert "not made from a passphrase" in switchboard(place, "vault", "unlock").err
    # Nobody has started a daemon for that.
    assert "no daemon knew" in switchboard(place, "vault", "lock").err
    assert not Path(place.daemon_places.socket).exists()


def test_whoever_keeps_a_value_looks_again_once_the_vault_is_locked(tmp_path: Path) -> None:
    vault = open_file_vault(str(tmp_path), OPTIONS, ask=lambda _: PHRASE)
    vault.put(TOKEN, CANARY)
    vaults = Vaults(is_unlockable=True)
    secrets = VaultSecrets({}, vaults, lambda: None)
    secrets.use(str(tmp_path), VaultOptions())
    entry = ServerEntry(name="github", transport="stdio", command="x")
    assert vaults.state(str(tmp_path)) == "locked"
    vaults.unlock(*vault.opening_key())
    assert vaults.state(str(tmp_path)) == "unlocked"
    assert secrets.resolve(entry, f"vault:{TOKEN}") == CANARY
    before = secrets.mark()
    assert vaults.lock() == 1
    assert secrets.mark() != before
    with pytest.raises(Fault) as caught:
        secrets.resolve(entry, f"vault:{TOKEN}")
    assert (caught.value.reason, caught.value.hint) == ("vault-locked", UNLOCK)
    # Where nobody can be told a key, nobody is asked to tell it.
    alone = VaultSecrets({}, Vaults(), lambda: None)
    alone.use(str(tmp_path), VaultOptions())
    with pytest.raises(Fault) as caught:
        alone.resolve(entry, f"vault:{TOKEN}")
    assert caught.value.hint != UNLOCK
