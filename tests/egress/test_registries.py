"""Package runners with their registry on the list."""

import base64
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from egress.world import FakeResolver, Heard, Site, ok
from sandbox.den import Den
from support.python_index import Wheel
from support.workspace import SCRIPTS
from switchboard.core.network.egress import egress_from
from switchboard.egress.record import EgressRecord
from switchboard.egress.session_variables import SessionVariables
from switchboard.egress.way_out import ProxiedWayOut, WayOutSpec

SAYS = "ran from the registry"
UVX = str(SCRIPTS / "uvx")


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


@asynccontextmanager
async def allowed(den: Den, site: Site, host: str) -> AsyncGenerator[EgressRecord]:
    """Give what runs in the den this host, and give the record of what it reached."""
    record = EgressRecord()

    async def look_up() -> dict[str, str]:
        return {}

    spec = WayOutSpec(
        server="tool",
        hosts=egress_from([f"{host}:{site.port}", f"127.0.0.1:{site.port}"]),
        variables=SessionVariables(),
        look_up=look_up,
    )
    known = {host.replace(".", "_"): "127.0.0.1"}
    den.way_out = ProxiedWayOut(spec, FakeResolver(**known), record, Heard())
    try:
        yield record
    finally:
        await den.way_out.aclose()


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
        async with allowed(den, site, "registry.test") as record:
            cache = {"npm_config_registry": base, "npm_config_cache": str(den.state / "npm")}
            ended = await den.run(("npx", "-y", "hello-pkg"), env=cache)
        assert ended.stdout.strip() == SAYS, ended.stderr
        assert {each.host for each in record.rows("tool")} == {"registry.test"}


PROGRAM = f"def main() -> None:\n    print({SAYS!r})\n"


def index_of(wheel: Wheel, base: str) -> Callable[[bytes], bytes]:
    """What an index with one package answers."""

    def answer(head: bytes) -> bytes:
        asked = head.partition(b"\r\n")[0]
        if b".whl.metadata" in asked:
            return ok(wheel.metadata.encode())
        is_file = b".whl" in asked
        return ok(wheel.content) if is_file else ok(wheel.page(base), "Content-Type: text/html")

    return answer


@pytest.mark.parametrize("host", ["index.test", "elsewhere.test"])
async def test_uvx_fetches_and_runs_a_package_from_an_index_that_is_listed_and_from_no_other(
    den: Den, host: str
) -> None:
    async with Site().open() as site:
        base = f"http://index.test:{site.port}"
        site.answer = index_of(Wheel("hello-pkg", PROGRAM), base)
        async with allowed(den, site, host) as record:
            options = ("--no-config", "--no-python-downloads", "--python", sys.executable)
            line = (UVX, *options, "--default-index", f"{base}/simple", "hello-pkg")
            env = {"UV_CACHE_DIR": str(den.state / "uv"), "UV_HTTP_RETRIES": "0"}
            ended = await den.run(line, env=env)
    is_listed = host == "index.test"
    assert (ended.stdout.strip() == SAYS) == is_listed, ended.stderr
    assert {each.host for each in record.rows("tool")} == {"index.test"}


@pytest.mark.parametrize("host", ["index.test", "elsewhere.test"])
async def test_pip_fetches_a_package_from_an_index_that_is_listed_and_from_no_other(
    den: Den, host: str
) -> None:
    wheel = Wheel("hello-pkg", PROGRAM)
    async with Site().open() as site:
        base = f"http://index.test:{site.port}"
        site.answer = index_of(wheel, base)
        async with allowed(den, site, host) as record:
            options = ("--no-deps", "--no-cache-dir", "--retries", "0", "--isolated")
            index = ("--trusted-host", "index.test", "--index-url", f"{base}/simple")
            pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download")
            ended = await den.run((*pip, *options, *index, "hello-pkg"))
    is_listed = host == "index.test"
    assert (ended.status == 0) == is_listed, ended.stderr
    assert (den.workspace / wheel.file).exists() == is_listed
    assert {each.host for each in record.rows("tool")} == {"index.test"}
