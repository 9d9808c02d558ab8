"""A vault in memory, which can be made to fail. It keeps to the contract of the real ones."""

import time

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import VaultEntry
from switchboard.vault.references import check_name
from switchboard.vault.values import check_value


class MemoryVault:
    """Keeps values in plain sight, and says what it was asked for."""

    def __init__(self, values: dict[str, str] | None = None) -> None:
        self.values = dict(values or {})
        self.asked: list[str] = []
        # Away, as a server can be.
        self.is_away = False
        self._times: dict[str, VaultEntry] = {}

    def get(self, reference: str, /) -> str | None:
        self._check()
        self.asked.append(reference)
        return self.values.get(reference)

    def put(self, reference: str, value: str, /) -> None:
        self._check()
        check_name(reference)
        check_value(value)
        now = time.time()
        old = self._times.get(reference)
        self.values[reference] = value
        self._times[reference] = VaultEntry(
            reference=reference, created_at=old.created_at if old else now, changed_at=now
        )

    def delete(self, reference: str, /) -> bool:
        self._check()
        return self.values.pop(reference, None) is not None

    def entries(self) -> list[VaultEntry]:
        self._check()
        unknown = VaultEntry(reference="", created_at=0.0, changed_at=0.0)
        return [
            VaultEntry(reference=name, created_at=entry.created_at, changed_at=entry.changed_at)
            for name in sorted(self.values)
            for entry in (self._times.get(name, unknown),)
        ]

    def mark(self) -> object:
        return dict(self.values)

    def close(self) -> None:
        pass

    def _check(self) -> None:
        if self.is_away:
            raise Fault(FaultCode.UNAVAILABLE, "vault-unavailable", "the vault does not answer")
