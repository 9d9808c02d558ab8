"""A vault that is a dictionary."""

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import VaultEntry


class FakeVault:
    """Keeps values in memory; fails when it is told to."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.is_full = False

    def get(self, reference: str, /) -> str | None:
        return self.values.get(reference)

    def put(self, reference: str, value: str, /) -> None:
        if self.is_full:
            raise Fault(FaultCode.UNAVAILABLE, "vault-unwritable", "the disk is full")
        self.values[reference] = value

    def delete(self, reference: str, /) -> bool:
        return self.values.pop(reference, None) is not None

    def entries(self) -> list[VaultEntry]:
        return [VaultEntry(reference=each, created_at=0, changed_at=0) for each in self.values]

    def close(self) -> None:
        """Nothing is held."""
