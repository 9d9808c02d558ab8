"""The fault of a database that cannot be used now."""

from switchboard.core.faults import Fault, FaultCode


def unusable(why: str) -> Fault:
    """That of whoever needs the database itself; stores have their own, about what they keep."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "database-unusable",
        "the database cannot be used now",
        hint="switchboard doctor --db",
        private=why,
    )
