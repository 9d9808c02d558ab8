"""What `switchboard vault` answers. No report holds a value."""

import time
from collections.abc import Iterator

from msgspec import Struct

from switchboard.cli.render import columns, hint
from switchboard.cli.report import DONE, FAILED, Report
from switchkit.cli.style import Style

_AGES = ((86_400 * 2, 86_400, "d"), (3_600 * 2, 3_600, "h"), (120, 60, "min"))


class ListedSecret(Struct, frozen=True, kw_only=True):
    """One secret, without its value. Times are seconds since 1970; 0 is unknown or never."""

    reference: str
    created_at: float
    changed_at: float
    used_at: float = 0.0
    # Whether it is a login that Switchboard keeps itself.
    is_login: bool = False
    # The servers that may have it.
    holders: tuple[str, ...] = ()


class VaultListReport(Report, frozen=True, kw_only=True, tag="switchboard.vault-list/1"):
    """Every secret."""

    secrets: tuple[ListedSecret, ...]

    def lines(self, style: Style) -> Iterator[str]:
        if self.secrets:
            rows = [
                (
                    f"{each.reference} (login)" if each.is_login else each.reference,
                    _age(each.changed_at),
                    _age(each.used_at) if each.used_at else "never",
                    ", ".join(each.holders) or "-",
                )
                for each in self.secrets
            ]
            yield from columns(
                ("REFERENCE", "CHANGED", "USED", "GIVEN TO"),
                rows,
                style,
                elastic=(3,),
                spare=(2, 1),
            )

    def notes(self, style: Style) -> Iterator[str]:
        if not self.secrets:
            yield "the vault is empty"
            yield hint(style, "switchboard vault put mcp/SERVER/env/KEY")


class VaultPutReport(Report, frozen=True, kw_only=True, tag="switchboard.vault-put/1"):
    """A secret was kept."""

    reference: str
    is_new: bool
    # The servers that name it.
    holders: tuple[str, ...] = ()
    next_step: str = ""

    def notes(self, style: Style) -> Iterator[str]:
        yield f"{'kept' if self.is_new else 'replaced'} `{self.reference}`"
        if self.holders:
            yield f"given to {', '.join(self.holders)}, from the next call on"
        if self.next_step:
            yield hint(style, self.next_step)


class VaultDeleteReport(Report, frozen=True, kw_only=True, tag="switchboard.vault-delete/1"):
    """Secrets were forgotten."""

    deleted: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def exit_code(self) -> int:
        return FAILED if self.missing else DONE

    def notes(self, style: Style) -> Iterator[str]:
        if self.deleted:
            yield f"forgot {', '.join(f'`{each}`' for each in self.deleted)}"
        for each in self.missing:
            yield f"there is no `{each}`"
            yield hint(style, "switchboard vault list")


class VaultRotateReport(Report, frozen=True, kw_only=True, tag="switchboard.vault-rotate/1"):
    """A key was changed."""

    rotated: bool
    # Whether every value was encrypted anew too.
    is_deep: bool = False
    key: str = ""

    def notes(self, style: Style) -> Iterator[str]:
        del style
        if not self.rotated:
            yield "there is no vault yet, so there is no key to change"
            return
        what = "every value is re-encrypted, and the vault" if self.is_deep else "the vault"
        yield f"{what} has a new key, {self.key}"


class VaultRekeyReport(Report, frozen=True, kw_only=True, tag="switchboard.vault-rekey/1"):
    """The values of a team are closed with its first secret."""

    # How many were not before.
    changed: int

    def notes(self, style: Style) -> Iterator[str]:
        del style
        if self.changed:
            yield f"{self.changed} values were closed with an older secret, and none is any more"
        else:
            yield "every value was closed with the first secret already"


class VaultUnlockReport(Report, frozen=True, kw_only=True, tag="switchboard.vault-unlock/1"):
    """The daemon was told the key of the vault."""

    pid: int

    def notes(self, style: Style) -> Iterator[str]:
        del style
        yield f"the vault is open for the daemon, process {self.pid}, until it ends"


class VaultLockReport(Report, frozen=True, kw_only=True, tag="switchboard.vault-lock/1"):
    """The daemon was told to forget the key of the vault."""

    was_unlocked: bool

    def notes(self, style: Style) -> Iterator[str]:
        del style
        if self.was_unlocked:
            yield "the daemon has forgotten the key; what runs keeps the secrets that it was given"
        else:
            yield "no daemon knew the key"


class VaultDoctorReport(Report, frozen=True, kw_only=True, tag="switchboard.vault-doctor/1"):
    """How the vault stands."""

    engine: str
    place: str
    key: str = ""
    key_kind: str = ""
    secrets: int = 0
    problems: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    def exit_code(self) -> int:
        return FAILED if self.problems else DONE

    def lines(self, style: Style) -> Iterator[str]:
        yield f"engine   {self.engine}"
        yield f"vault    {self.place}"
        if self.key:
            yield f"key      {self.key}"
        yield f"secrets  {self.secrets}"
        for problem, fix in zip(self.problems, self.hints, strict=True):
            yield ""
            yield f"{style.red('error:')} {problem}"
            if fix:
                yield hint(style, fix)
        if not self.problems:
            yield ""
            yield style.green("nothing is wrong")


def _age(then: float) -> str:
    if not then:
        return "-"
    seconds = max(0.0, time.time() - then)
    for least, unit, name in _AGES:
        if seconds >= least:
            return f"{int(seconds // unit)} {name} ago"
    return "just now"
