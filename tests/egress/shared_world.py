"""A way out as it is on macOS, over the network of the machine, and what stands at its end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from egress.world import SECRET, FakeResolver, Heard, Site
from sandbox.den import Den
from support.authority import Authority
from switchboard.core.network.egress import egress_from
from switchboard.egress.limits import LIMITS, EgressLimits
from switchboard.egress.record import EgressRecord
from switchboard.egress.session_variables import SessionVariables
from switchboard.egress.way_out import ProxiedWayOut, WayOutSpec

PYTHON = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"


class Shared:
    """A way out over the network of the machine, and what stands at its other end."""

    def __init__(self, site: Site, record: EgressRecord, way_out: ProxiedWayOut) -> None:
        self.site = site
        self.record = record
        self.way_out = way_out
        self.port = way_out.outlet.port
        self.url = f"https://api.test:{site.port}/"
        self.password = way_out.env["HTTPS_PROXY"].partition("switchboard:")[2].partition("@")[0]

    async def asked(self, *headers: str) -> bytes:
        """What the proxy answers to somebody who asks for the host of the list."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        where = f"api.test:{self.site.port}"
        lines = (f"GET http://{where}/ HTTP/1.1", f"Host: {where}", *headers, "", "")
        try:
            writer.write("\r\n".join(lines).encode())
            writer.write_eof()
            async with asyncio.timeout(20):
                return await reader.read(-1)
        finally:
            writer.close()


@asynccontextmanager
async def shared(
    den: Den, tmp_path: Path, *, limits: EgressLimits = LIMITS, **special: Any
) -> AsyncGenerator[Shared]:
    authority = Authority(tmp_path)

    async def look_up() -> dict[str, str]:
        return {"env:TOKEN": SECRET}

    async with Site().open(authority.context("api.test")) as site:
        record = EgressRecord()
        spec = WayOutSpec(
            server="tool",
            hosts=egress_from({f"api.test:{site.port}": special, f"127.0.0.1:{site.port}": {}}),
            variables=SessionVariables(environ={"SSL_CERT_FILE": str(authority.file)}),
            look_up=look_up,
            on_shared_network=True,
            limits=limits,
        )
        resolver = FakeResolver(api_test="127.0.0.1")
        den.way_out = way_out = ProxiedWayOut(spec, resolver, record, Heard())
        try:
            yield Shared(site, record, way_out)
        finally:
            await way_out.aclose()
