"""Measure what a login costs a request to a remote server: with a bearer token ÷ without.

.venv/bin/python bench/bearer.py [--readme]

The two take turns, some requests each, so that a busy machine slows both alike. Processor time of
this process alone; the server is another one.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path

from switchboard.audit.store import SqliteAudit
from switchboard.children.http.client import RemoteClient
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import EnvironmentSecrets, LookedUp
from switchboard.core.bus import EventBus
from switchboard.oauth.grant import Grant, GrantKey, entry_reference
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.login_trail import LoginTrail
from switchboard.oauth.logins import Logins
from switchboard.vault.opening import open_vault
from switchboard.vault.options import VaultOptions

README = Path(__file__).with_name("README.md")
BEGIN = "<!-- bearer: written by bearer.py --readme -->\n"
END = "<!-- end of bearer -->\n"
TURNS = 40
REQUESTS = 50
# Below this nobody could tell the two apart.
BOUND = 1.05
ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 36\r\n\r\n"
    b'{"jsonrpc":"2.0","id":1,"result":{}}'
)
BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def serve(told: Connection) -> None:
    """Answer every request in the same way."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len(BODY))
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def client_of(entry: ServerEntry, logins: Logins | None) -> RemoteClient:
    authorization = None
    if logins is not None:
        authorization = logins.open(
            entry,
            environ={},
            secret=lambda _: None,
            learn=lambda _: None,
            forget=lambda _: None,
        )
    secrets = LookedUp(entry, {}, EnvironmentSecrets({}), lambda _: None)
    return RemoteClient(
        entry,
        hide=str,
        timeout_s=10,
        environ={},
        secrets=secrets,
        authorization=authorization,
    )


async def some(client: RemoteClient) -> float:
    """Give the processor time of one request, in microseconds."""
    began = time.process_time()
    for _ in range(REQUESTS):
        async with client.stream("POST", client.url, {}, BODY) as response:
            await response.aread()
    return (time.process_time() - began) / REQUESTS * 1e6


async def measure(home: str, port: int) -> str:
    entry = ServerEntry(name="far", transport="http", url=f"http://127.0.0.1:{port}/mcp")
    vault = open_vault(home, VaultOptions(key="own-key-file"), {})
    grants = GrantStore(home, lambda: vault)
    key = GrantKey(issuer=entry.url, resource=entry.url, client_id="c")
    now = time.time()
    grant = Grant(
        key=key,
        token_url=entry.url,
        access_token="x" * 43,
        refresh_token="y" * 43,
        expires_at=now + 3600,
        obtained_at=now,
    )
    grants.keep(entry_reference(entry), grant)
    logins = Logins(grants, EventBus(), LoginTrail(lambda: SqliteAudit(home)))
    without, bearer = client_of(entry, None), client_of(entry, logins)
    taken: dict[RemoteClient, list[float]] = {without: [], bearer: []}
    for turn in range(TURNS + 2):
        for client in (without, bearer) if turn % 2 else (bearer, without):
            spent = await some(client)
            # The first turns connect, and read the login.
            if turn > 1:
                taken[client].append(spent)
    await logins.aclose()
    ratios = [b / a for a, b in zip(taken[without], taken[bearer], strict=True)]
    ratio = statistics.median(ratios)
    return (
        "| a request to a remote server | µs of processor time |\n|---|--:|\n"
        f"| without a login | {statistics.median(taken[without]):.0f} |\n"
        f"| with a bearer token | {statistics.median(taken[bearer]):.0f} |\n\n"
        f"With ÷ without, taking turns: {ratio:.3f} (promise ≤ {BOUND:g},"
        f" {'kept' if ratio <= BOUND else 'NOT kept'}).\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", action="store_true", help="write the table into README.md")
    wanted = parser.parse_args()
    ours, theirs = Pipe()
    server = Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as home:
        table = asyncio.run(measure(home, ours.recv()))
    server.terminate()
    sys.stdout.write(table)
    if wanted.readme:
        before, _, rest = README.read_text("utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        README.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
