"""What is answered without asking a person, because the profile has decided it already."""

from switchboard.engines.events import Permission
from switchboard.engines.profile import RunFields


def unasked(fields: RunFields, permission: Permission) -> bool | None:
    """Yes, no, or nothing, if a person has to be asked."""
    if fields.sandbox_mode == "read-only" and permission.kind in ("command", "patch"):
        return False
    if fields.approval_policy != "never":
        return None
    return fields.sandbox_mode == "danger-full-access"
