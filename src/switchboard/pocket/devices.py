"""Devices that a person has registered, each known by a key that never leaves it."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.approvals.queue import new_id
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.cleaning import cleaned_line
from switchkit.files import NotPrivate, make_folder, open_private, replace_file
from switchkit.locks import FolderLock

_NAME = "devices.json"
_MOST_BYTES = 262_144
MOST_DEVICES = 32
_MOST_LETTERS = 40


class Device(Struct, frozen=True, kw_only=True):
    """One device: what its owner calls it, and the key that it signs with, in base64."""

    id: str
    name: str
    key: str
    registered_at: float
    # When it proved itself last; 0 for never.
    seen_at: float = 0.0

    def __str__(self) -> str:
        return f'device "{self.name}" {self.id}'


class _File(Struct, frozen=True, kw_only=True):
    devices: tuple[Device, ...] = ()


class DeviceBook:
    """The devices of one home, in a file of its own. Every method may raise a fault."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._path = f"{home}/{_NAME}"

    def all(self) -> tuple[Device, ...]:
        """Those that are registered now."""
        try:
            with os.fdopen(open_private(self._path, os.O_RDONLY, mend=False), "rb") as file:
                return msgspec.json.decode(file.read(_MOST_BYTES), type=_File).devices
        except FileNotFoundError:
            return ()
        except NotPrivate as error:
            raise _unusable(f"it {error.why}") from None
        except (OSError, msgspec.MsgspecError):
            raise _unusable("it cannot be read") from None

    def find(self, wanted: str) -> Device | None:
        """The device of that id."""
        return next((each for each in self.all() if each.id == wanted), None)

    def add(self, name: str, key: str) -> Device:
        """Register one."""
        shown = cleaned_line(name, _MOST_LETTERS).replace('"', "'") or "a device"
        device = Device(id=new_id(), name=shown, key=key, registered_at=time.time())
        with self._changing() as devices:
            if len(devices) >= MOST_DEVICES:
                raise Fault(
                    FaultCode.FAILED_PRECONDITION,
                    "too-many-devices",
                    f"there are {MOST_DEVICES} devices already",
                    hint="switchboard approvals devices ID --remove",
                )
            devices.append(device)
        return device

    def remove(self, wanted: str) -> Device:
        """Let a device count no more."""
        with self._changing() as devices:
            for each in devices:
                if each.id == wanted:
                    devices.remove(each)
                    return each
        raise Fault(
            FaultCode.NOT_FOUND,
            "unknown-device",
            f"no device has the id `{wanted}`",
            hint="switchboard approvals devices",
        )

    def seen(self, device: Device) -> None:
        """It has proven itself just now."""
        with self._changing() as devices:
            for at, each in enumerate(devices):
                if each.id == device.id:
                    devices[at] = replace(each, seen_at=time.time())

    @contextmanager
    def _changing(self) -> Generator[list[Device]]:
        try:
            make_folder(self._home)
            with FolderLock(self._home):
                before = self.all()
                devices = list(before)
                yield devices
                if tuple(devices) != before:
                    replace_file(self._path, msgspec.json.encode(_File(devices=tuple(devices))))
        except OSError as error:
            raise _unusable(f"it cannot be written: {error.strerror}") from error


def _unusable(why: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "devices-unusable",
        f"the file `{_NAME}` in Switchboard's home is not used: {why}",
        hint="remove it, and register your devices anew",
    )
