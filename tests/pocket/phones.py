"""A phone that is registered, without the phone: it signs what it asks, as a browser does."""

import asyncio
import base64
import json
import signal
import ssl
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from cli.commands import report_of
from support.workspace import Json, Workspace

PATIENCE = 20.0


class Phone:
    """A key, the address that it is for, and the name under which it is registered."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self.http = http
        self.url = url
        self.origin = url.rstrip("/")
        self.headers = {"origin": self.origin}
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.device = ""

    @property
    def key(self) -> str:
        point = self.private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        return base64.urlsafe_b64encode(point).decode()

    async def post(self, word: str, **fields: Any) -> httpx2.Response:
        return await self.http.post(f"{self.url}pocket/{word}", json=fields, headers=self.headers)

    async def nonce(self) -> str:
        return (await self.post("challenge")).json()["nonce"]

    def signature(self, *words: str) -> str:
        text = "".join(f"{len(word)}:{word}\n" for word in words).encode()
        first, second = decode_dss_signature(self.private.sign(text, ec.ECDSA(hashes.SHA256())))
        both = first.to_bytes(32, "big") + second.to_bytes(32, "big")
        return base64.urlsafe_b64encode(both).decode()

    async def signed(self, word: str, *words: str, **fields: Any) -> httpx2.Response:
        """Ask for something with a proof over these words."""
        nonce = await self.nonce()
        signature = self.signature("switchboard", self.origin, nonce, word, *words)
        return await self.post(
            word, **{"device": self.device, **fields}, nonce=nonce, signature=signature
        )

    async def register(self, code: str) -> httpx2.Response:
        answer = await self.signed("pair", code, code=code, name="test phone", key=self.key)
        if answer.status_code == 200:
            self.device = answer.json()["device"]
        return answer

    async def queue(self) -> list[Json]:
        answer = await self.signed("queue")
        assert answer.status_code == 200, answer.text
        return answer.json()["questions"]

    async def answer(
        self, token: str, digest: str, *, approves: bool = True, **fields: Any
    ) -> httpx2.Response:
        verdict = "approved" if approves else "denied"
        return await self.signed(
            *("answer", token, digest, verdict),
            **{"token": token, "digest": digest, "approves": approves, **fields},
        )


class PhonePage:
    """`switchboard approvals serve`, as it said that it is reached."""

    def __init__(self, process: asyncio.subprocess.Process, report: Json) -> None:
        self.process = process
        self.url: str = report["url"]
        self.code: str = report.get("code", "")
        self.fingerprint: str = report["fingerprint"]


@asynccontextmanager
async def phone_page(
    workspace: Workspace, *words: str, files: int = 1024
) -> AsyncGenerator[PhonePage]:
    """Serve phones on loopback, as a person does in a terminal of their own.

    `files` is how many that process may have open.
    """
    command = workspace.command("approvals", "serve", "--listen", "127.0.0.1:0", "--json", *words)
    process = await asyncio.create_subprocess_exec(
        *("prlimit", f"--nofile={files}", "timeout", "100", *command),
        stdin=subprocess.DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE):
            text = ""
            while not text.rstrip().endswith("}"):
                line = (await process.stdout.readline()).decode()
                assert line, (await process.stderr.read()).decode()
                text += line
        yield PhonePage(process, report_of(text))
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            _, wrong = await process.communicate()
        assert b"Traceback" not in wrong, wrong.decode()


@asynccontextmanager
async def phone(
    page: PhonePage, *, registered: bool = True, address: str = "127.0.0.1"
) -> AsyncGenerator[Phone]:
    """A phone that opened the page from an address, and knows its certificate."""
    pem = await asyncio.to_thread(_certificate, page)
    trusting = ssl.create_default_context(cadata=pem)
    way = httpx2.AsyncHTTPTransport(verify=trusting, local_address=address)
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE, transport=way) as http:
        found = Phone(http, page.url)
        if registered:
            answer = await found.register(page.code)
            assert answer.status_code == 200, answer.text
        yield found


def _certificate(page: PhonePage) -> str:
    host, _, port = page.url.removeprefix("https://").rstrip("/").rpartition(":")
    return ssl.get_server_certificate((host, int(port)), timeout=PATIENCE)


def lines_of(text: str) -> list[Json]:
    return [json.loads(line) for line in text.splitlines()]
