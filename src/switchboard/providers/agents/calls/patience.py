"""How long a client is kept waiting before it is told that a run goes on without it."""

import time
from collections.abc import Mapping

from switchboard.core.calls.call import Call

# Seconds, by a part of the name that a client gives itself. Codex gives up after 300.
KNOWN: dict[str, float] = {"codex": 280.0}
DEFAULT_S = 45.0
# Longer than any run.
LONGEST_S = 7 * 86_400.0
# An answer has to be there before the client gives up.
_SHARE = 0.9
# Whoever waited for a person first is not sent away at once.
_LEAST_S = 1.0


def patience_of(
    call: Call, configured: Mapping[str, int], *, otherwise: float | None = None
) -> float:
    """How long this client may be kept waiting from now on.

    `otherwise` is for tools whose clients are known to wait unless they say that they do not.
    """
    waited = time.monotonic() - call.began_at
    return max(_whole(call, configured, otherwise) - waited, _LEAST_S)


def _whole(call: Call, configured: Mapping[str, int], otherwise: float | None) -> float:
    if call.client_timeout_s is not None:
        return call.client_timeout_s * _SHARE
    if call.session.via == "cli":
        # A person waits, and can stop waiting at any time.
        return LONGEST_S
    client = call.session.client.lower()
    # What is configured counts first, and the longest name says most.
    for table in (configured, KNOWN if otherwise is None else {}):
        for name in sorted(table, key=len, reverse=True):
            if name != "default" and name.lower() in client:
                return float(table[name])
    return float(configured.get("default", DEFAULT_S if otherwise is None else otherwise))
