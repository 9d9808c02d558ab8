"""The vault of a team, through the contract, and what becomes of a server that is away.

The server is a double: see `support.kv_server`.
"""

import threading
from collections.abc import Iterator

import pytest

from support.kv_server import TOKEN as KV_TOKEN
from support.kv_server import KvServer, kv_server
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import VaultStore
from switchboard.vault.kv_vault import KvVault
from switchboard.vault.options import VaultOptions
from vault.store_contract import TOKEN, VaultStoreContract


def vault_of(server: KvServer, token: str = KV_TOKEN, timeout_ms: int = 20_000) -> KvVault:
    options = VaultOptions(
        engine="hashicorp", address=server.address, timeout_ms=timeout_ms, prefix="sb"
    )
    return KvVault(options, lambda: token)


@pytest.fixture(scope="module")
def running() -> Iterator[KvServer]:
    with kv_server() as server:
        yield server


@pytest.fixture
def server(running: KvServer) -> Iterator[KvServer]:
    running.versions.clear()
    running.times.clear()
    running.requests.clear()
    yield running
    running.is_sealed = running.is_busy = False
    running.says = None
    running.mount = "secret"
    running.hangs.set()


class TestKvVault(VaultStoreContract):
    """HashiCorp Vault and OpenBao."""

    @pytest.fixture(autouse=True)
    def _server(self, server: KvServer) -> None:
        self.server = server

    def make(self) -> VaultStore:
        return vault_of(self.server)

    @pytest.fixture(autouse=True)
    def _time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr("switchboard.vault.kv_vault.time.monotonic", lambda: self.now)

    def time_passes(self) -> None:
        self.now += 60


def refusal(store: VaultStore) -> Fault:
    with pytest.raises(Fault) as caught:
        store.get(TOKEN)
    for other in (lambda: store.put(TOKEN, "x"), store.entries, lambda: store.delete(TOKEN)):
        with pytest.raises(Fault) as again:
            other()
        assert again.value.code is caught.value.code
    assert KV_TOKEN not in f"{caught.value.message}{caught.value.hint}{caught.value.private}"
    return caught.value


def test_where_a_secret_lies_and_who_asks_for_it(server: KvServer) -> None:
    store = KvVault(
        VaultOptions(engine="hashicorp", address=server.address, namespace="team/a"),
        lambda: KV_TOKEN,
    )
    store.put(TOKEN, "value")
    assert server.versions == {f"switchboard/{TOKEN}": [{"value": "value"}]}
    [(_, path, headers)] = server.requests
    assert path == f"secret/data/switchboard/{TOKEN}"
    assert headers["x-vault-namespace"] == "team/a"


def test_a_token_that_may_not_is_told_so(server: KvServer) -> None:
    fault = refusal(vault_of(server, token="hvs.another"))
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "vault-denied")


def test_a_sealed_server_is_unavailable(server: KvServer) -> None:
    server.is_sealed = True
    fault = refusal(vault_of(server))
    assert fault.code is FaultCode.UNAVAILABLE
    assert "sealed" in fault.message


def test_a_busy_server_is_unavailable(server: KvServer) -> None:
    server.is_busy = True
    assert refusal(vault_of(server)).code is FaultCode.UNAVAILABLE


def test_a_server_that_hangs_is_given_up(server: KvServer) -> None:
    server.hangs.clear()
    store = vault_of(server, timeout_ms=200)
    with pytest.raises(Fault) as caught:
        store.get(TOKEN)
    assert caught.value.code is FaultCode.UNAVAILABLE
    assert "in time" in caught.value.message


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with kv_server() as gone:
        pass
    fault = refusal(vault_of(gone))
    assert fault.code is FaultCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("status", "text"),
    [(500, "{}"), (502, "<html>"), (200, "<html>"), (200, "[]"), (200, '{"data": []}'), (200, "")],
)
def test_nonsense_is_unavailable_and_never_a_value(
    server: KvServer, status: int, text: str
) -> None:
    server.says = (status, text)
    with pytest.raises(Fault) as caught:
        vault_of(server).get(TOKEN)
    assert caught.value.code in (FaultCode.UNAVAILABLE, FaultCode.FAILED_PRECONDITION)


def test_the_token_does_not_follow_where_a_server_points(server: KvServer) -> None:
    with kv_server() as other:
        server.says = (307, f"{other.address}/v1/secret/data/sb/{TOKEN}")
        with pytest.raises(Fault):
            vault_of(server).get(TOKEN)
        assert other.requests == []


@pytest.mark.parametrize("data", [{"value": ""}, {"other": "x"}, {"value": 3}])
def test_an_entry_without_a_value_is_a_fault_not_an_empty_value(
    server: KvServer, data: dict[str, str]
) -> None:
    server.versions[f"sb/{TOKEN}"] = [data]
    server.times[f"sb/{TOKEN}"] = ["2026-01-01T00:00:00.000000000Z"]
    with pytest.raises(Fault) as caught:
        vault_of(server).get(TOKEN)
    assert caught.value.reason == "vault-entry-unusable"


def test_a_version_that_was_deleted_elsewhere_is_no_value(server: KvServer) -> None:
    store = vault_of(server)
    store.put(TOKEN, "value")
    server.versions[f"sb/{TOKEN}"][-1] = None
    assert store.get(TOKEN) is None
    assert store.entries() == []


def test_a_mount_that_is_none_is_told(server: KvServer) -> None:
    server.mount = "elsewhere"
    assert refusal(vault_of(server)).reason == "vault-engine-missing"


def test_a_renewed_token_is_used_by_whoever_runs(server: KvServer) -> None:
    tokens = ["hvs.old"]
    store = KvVault(VaultOptions(engine="hashicorp", address=server.address), lambda: tokens[-1])
    with pytest.raises(Fault):
        store.get(TOKEN)
    tokens.append(KV_TOKEN)
    assert store.get(TOKEN) is None


def test_a_server_that_comes_back_is_used_again(server: KvServer) -> None:
    store = vault_of(server)
    store.put(TOKEN, "value")
    server.is_sealed = True
    refusal(store)
    server.is_sealed = False
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.append(store.get(TOKEN)))
    thread.start()
    thread.join(30)
    assert found == ["value"]
