"""`switchboard approvals serve`: questions on a phone in the same network, until Ctrl-C."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import Struct

from switchboard.approvals.approver import Approver
from switchboard.approvals.presence import shown_code
from switchboard.audit.store import SqliteAudit
from switchboard.cli.render import hint
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.starting import ready_daemon
from switchboard.cli.verbs.parts.trusting.consent import check_consent
from switchboard.control.answers import Decision, OfferedAnswers
from switchboard.control.client import running_daemon
from switchboard.control.requests import ControlRequest, OfferRequest, TokenAnswerRequest
from switchboard.core.audit import AuditApproval, new_record
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.serve import until_signal
from switchboard.ipc.paths import DaemonPlaces, places_from
from switchboard.pocket.certificate import own_certificate
from switchboard.pocket.devices import Device, DeviceBook
from switchboard.pocket.listening import listen_on, read_address
from switchboard.pocket.pairing import PairingCodes
from switchboard.pocket.serving_note import noted_url
from switchboard.pocket.site import PocketSite
from switchboard.surface.http.server import served
from switchboard.wire.http_hosts import in_url
from switchkit.cli.columns import counted
from switchkit.cli.style import Style

T = TypeVar("T", bound=Struct)


class PhonePageReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-serve/1"):
    """Where a phone reaches the queue, how it is known, and the code that registers one."""

    url: str
    # Of the certificate, SHA-256.
    fingerprint: str
    devices: int
    # Counts once; empty where nobody asked for one.
    code: str = ""

    def lines(self, style: Style) -> Iterator[str]:
        yield f"page:        {style.bold(self.url)}"
        yield f"certificate: {self.fingerprint}"
        if self.code:
            yield f"code:        {style.bold(self.code)}"

    def notes(self, style: Style) -> Iterator[str]:
        if self.code:
            yield "open the page on your phone, compare the certificate, and type the code there"
            yield "the code registers one device, within ten minutes"
        else:
            yield f"{counted(self.devices, 'device')} may approve"
            yield hint(style, "another one: switchboard approvals serve --listen … --pair")
        yield hint(style, "Ctrl-C stops it")


def serve_phones(request: CommandRequest, address: str) -> Report:
    """Answer on one private address until somebody stops it. Raises a fault."""
    check_consent(request)
    host, port = read_address(address)
    places = places_from(dict(request.environ))
    ready_daemon(places, request.environ).close()
    return Silent(code=asyncio.run(_serve(request, places, host, port)))


async def _serve(request: CommandRequest, places: DaemonPlaces, host: str, port: int) -> int:
    certificate = await asyncio.to_thread(own_certificate, places.home, host)
    devices = DeviceBook(places.home)
    known = await asyncio.to_thread(devices.all)
    listening = listen_on(host, port)
    name = f"{in_url(host)}:{listening.getsockname()[1]}"
    pairing = PairingCodes()
    wants_code = request.arguments.has("pair") or not known
    code = shown_code(pairing.issue()) if wants_code else ""
    site = PocketSite(_Desk(places, request.talk.say), devices, pairing, name)
    stopped = until_signal()
    with listening:
        async with served(site, listening, certificate=certificate.path):
            with noted_url(places.home, f"https://{name}/"):
                request.show(
                    PhonePageReport(
                        url=f"https://{name}/",
                        fingerprint=certificate.fingerprint,
                        devices=len(known),
                        code=code,
                    )
                )
                await stopped
    return 0


class _Desk:
    """The queue of the daemon, which takes a yes from this process as from any terminal."""

    def __init__(self, places: DaemonPlaces, say: Callable[[str], None]) -> None:
        self._places = places
        self._say = say

    async def offered(self, token: str) -> OfferedAnswers:
        return await asyncio.to_thread(self._ask, OfferRequest(token=token), OfferedAnswers)

    async def answer(self, token: str, digest: str, device: str, *, approves: bool) -> Decision:
        wanted = TokenAnswerRequest(token=token, approves=approves, digest=digest, device=device)
        decision = await asyncio.to_thread(self._ask, wanted, Decision)
        self._say(f"{decision.verdict}: {decision.tool}{f', by {device}' if device else ''}")
        return decision

    async def registered(self, device: Device) -> None:
        await write_device(self._places.home, "device.registered", device)
        self._say(f"registered: {device}")

    def _ask(self, wanted: ControlRequest, kind: type[T]) -> T:
        client = running_daemon(self._places)
        if client is None:
            raise _no_daemon()
        try:
            found = client.answer(wanted, kind)
        finally:
            client.close()
        if found is None:
            raise _no_daemon()
        return found


async def write_device(home: str, event: str, device: Device) -> None:
    """Write down that a device counts from now on, or no more. Raises a fault."""
    log = SqliteAudit(home)
    try:
        await log.append(
            new_record(
                event,
                note=str(device),
                approval=AuditApproval(
                    decision="approved" if event == "device.registered" else "denied",
                    id=device.id,
                    mode="device",
                    channel="cli",
                    chain=str(Approver.of_this_process()),
                ),
            )
        )
    finally:
        await log.aclose()


def _no_daemon() -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "daemon-unreachable",
        "nothing runs on your computer that could be answered",
        hint="switchboard daemon restart",
    )
