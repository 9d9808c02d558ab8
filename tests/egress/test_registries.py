"""Package runners with their registry on the list."""

import base64
import hashlib
import io
import json
import tarfile
from typing import Any

from egress.world import FakeResolver, Heard, Site, ok
from sandbox.den import Den
from switchboard.core.egress import egress_from
from switchboard.egress.record import EgressRecord
from switchboard.egress.session_variables import SessionVariables
from switchboard.egress.way_out import ProxiedWayOut, WayOutSpec

SAYS = "ran from the registry"


def package() -> bytes:
    """A package with one program."""
    made = io.BytesIO()
    about = {"name": "hello-pkg", "version": "1.0.0", "bin": {"hello-pkg": "cli.js"}}
    program = f"#!/usr/bin/env node\nconsole.log('{SAYS}')\n"
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps(about)), ("cli.js", program)):
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(text), 0o755
            archive.addfile(info, io.BytesIO(text.encode()))
    return made.getvalue()


async def test_npx_fetches_and_runs_a_package_from_a_registry_that_is_listed(den: Den) -> None:
    archive = package()
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    async with Site().open() as site:
        base = f"http://registry.test:{site.port}"

        def answer(head: bytes) -> bytes:
            if head.startswith(b"POST"):
                return ok(b"{}", "Content-Type: application/json")
            if b".tgz" in head.partition(b"\r\n")[0]:
                return ok(archive)
            version = {
                "name": "hello-pkg",
                "version": "1.0.0",
                "bin": {"hello-pkg": "cli.js"},
                "dist": {"tarball": f"{base}/hello-pkg.tgz", "integrity": integrity},
            }
            known: dict[str, Any] = {"name": "hello-pkg", "versions": {"1.0.0": version}}
            known["dist-tags"] = {"latest": "1.0.0"}
            return ok(json.dumps(known).encode(), "Content-Type: application/json")

        site.answer = answer
        record = EgressRecord()

        async def look_up() -> dict[str, str]:
            return {}

        spec = WayOutSpec(
            server="tool",
            hosts=egress_from([f"registry.test:{site.port}", f"127.0.0.1:{site.port}"]),
            variables=SessionVariables(),
            look_up=look_up,
        )
        den.way_out = ProxiedWayOut(spec, FakeResolver(registry_test="127.0.0.1"), record, Heard())
        try:
            cache = {"npm_config_registry": base, "npm_config_cache": str(den.state / "npm")}
            ended = await den.run(("npx", "-y", "hello-pkg"), env=cache)
        finally:
            await den.way_out.aclose()
        assert ended.stdout.strip() == SAYS, ended.stderr
        assert {each.host for each in record.rows("tool")} == {"registry.test"}
