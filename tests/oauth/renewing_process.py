"""One of many processes that hold the same login. Says what it would show to the server.

Usage: renewing_process.py HOME URL
It says `ready`, waits for a line on stdin, and then says the digest of its header, or a fault.
"""

import asyncio
import hashlib
import sys

from fakes.audit import MemoryAudit
from fakes.events import MemoryEvents
from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.login_trail import LoginTrail
from switchboard.oauth.logins import Logins
from switchboard.vault.opening import open_vault
from switchboard.vault.options import VaultOptions


async def main(home: str, url: str) -> None:
    vault = open_vault(home, VaultOptions(key="own-key-file"), {})
    logins = Logins(GrantStore(home, lambda: vault), MemoryEvents(), LoginTrail(MemoryAudit))
    login = logins.open(
        ServerEntry(name="notes", transport="http", url=url),
        environ={},
        secret=lambda _: None,
        learn=lambda _: None,
        forget=lambda _: None,
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    try:
        said = hashlib.sha256((await login.header()).encode()).hexdigest()
    except Fault as fault:
        said = f"fault {fault.reason}"
    sys.stdout.write(f"{said}\n")
    await logins.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
