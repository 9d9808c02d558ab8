"""`switchboard approvals devices`: what may approve from elsewhere, shown and taken back."""

import asyncio
from collections.abc import Iterator

from msgspec import Struct

from switchboard.cli.moments import local_time
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.approving.phone_serving import write_device
from switchboard.core.text.stamps import stamped
from switchboard.ipc.paths import places_from
from switchboard.pocket.devices import DeviceBook
from switchkit.cli.style import Style


class ListedDevice(Struct, frozen=True, kw_only=True):
    """One device."""

    id: str
    name: str
    registered_at: str
    # Empty where it never has.
    seen_at: str = ""


class DevicesReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-devices/1"):
    """The devices that may approve, and the one that may no more."""

    devices: tuple[ListedDevice, ...]
    removed: str = ""

    def lines(self, style: Style) -> Iterator[str]:
        if not self.devices:
            return
        rows = [
            (each.id, each.name, local_time(each.registered_at), local_time(each.seen_at) or "-")
            for each in self.devices
        ]
        yield from columns(("ID", "NAME", "REGISTERED", "LAST SEEN"), rows, style, elastic=(1,))

    def notes(self, style: Style) -> Iterator[str]:
        if self.removed:
            yield f"{self.removed} may approve no more"
        if self.devices:
            yield hint(style, f"switchboard approvals devices {self.devices[0].id} --remove")
        elif not self.removed:
            yield "no device may approve"
            yield hint(style, "switchboard approvals serve --listen ADDRESS")


def device_list(request: CommandRequest, removed: str) -> Report:
    """Take a device off the list if one is named, and show the rest. Raises a fault."""
    home = places_from(dict(request.environ)).home
    book = DeviceBook(home)
    gone = ""
    if removed:
        device = book.remove(removed)
        gone = str(device)
        asyncio.run(write_device(home, "device.removed", device))
    listed = tuple(
        ListedDevice(
            id=each.id,
            name=each.name,
            registered_at=stamped(each.registered_at),
            seen_at=stamped(each.seen_at) if each.seen_at else "",
        )
        for each in book.all()
    )
    return DevicesReport(devices=listed, removed=gone)
