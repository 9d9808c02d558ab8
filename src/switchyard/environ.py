"""Variables: what services, hooks and the supervisor inherit from whoever asked for them."""

from collections.abc import Mapping

OWN_PREFIX = "SWITCHYARD"
KEPT = ("SWITCHYARD_HOME",)


def base_environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the caller has, without the marks of a run it may itself be part of."""
    return {key: one for key, one in given.items() if not key.startswith(OWN_PREFIX) or key in KEPT}
