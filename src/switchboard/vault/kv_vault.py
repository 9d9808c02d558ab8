"""The vault of a team: the KV engine, version 2, of HashiCorp Vault or OpenBao.

A secret lies under `<mount>/<prefix>/<reference>`, in the field `value`.
"""

import shlex
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeVar, cast

import hvac
import hvac.exceptions
import requests

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import VaultEntry
from switchboard.vault.options import VaultOptions
from switchboard.vault.references import check_name
from switchboard.vault.values import check_value

Answer = TypeVar("Answer")

_FIELD = "value"
_LOOK_AGAIN_S = 30
# Whoever lists a vault with more has it listed by its server.
_MOST_ENTRIES = 10_000


class KvVault:
    """A `VaultStore` on a server. It is asked each time: what it says now is what holds."""

    def __init__(self, options: VaultOptions, token: Callable[[], str]) -> None:
        """`token` is read for each connection, because tokens are renewed."""
        self._options = options
        self._token = token
        # A connection is of one thread.
        self._own = threading.local()

    def get(self, reference: str, /) -> str | None:
        check_name(reference)

        def read(kv: Any) -> Any:
            return kv.read_secret_version(
                path=self._path(reference),
                mount_point=self._options.mount,
                raise_on_deleted_version=True,
            )

        answer = self._ask(read)
        if answer is None:
            return None
        value = _inner(answer, "data", "data").get(_FIELD)
        if not isinstance(value, str) or not value:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "vault-entry-unusable",
                f"the vault server has an entry for `{reference}` without a `{_FIELD}`",
                hint=f"switchboard vault put {shlex.quote(reference)}",
            )
        return value

    def put(self, reference: str, value: str, /) -> None:
        check_name(reference)
        check_value(value)

        def write(kv: Any) -> Any:
            return kv.create_or_update_secret(
                path=self._path(reference),
                secret={_FIELD: value},
                mount_point=self._options.mount,
            )

        if self._ask(write) is None:
            raise _no_engine(self._options)

    def delete(self, reference: str, /) -> bool:
        check_name(reference)
        if self.get(reference) is None:
            return False

        def forget(kv: Any) -> Any:
            return kv.delete_metadata_and_all_versions(
                path=self._path(reference), mount_point=self._options.mount
            )

        self._ask(forget)
        return True

    def entries(self) -> list[VaultEntry]:
        found: list[VaultEntry] = []
        for reference in self._references(""):
            answer = self._ask(
                lambda kv, reference=reference: kv.read_secret_metadata(
                    path=self._path(reference), mount_point=self._options.mount
                )
            )
            if answer is not None and len(found) < _MOST_ENTRIES:
                about = _inner(answer, "data")
                versions = cast("dict[str, Any]", about.get("versions") or {})
                current = versions.get(str(about.get("current_version")), {})
                # An entry whose last version was deleted has no value any more.
                if not current.get("deletion_time") and not current.get("destroyed"):
                    found.append(
                        VaultEntry(
                            reference=reference,
                            created_at=_time(about.get("created_time")),
                            changed_at=_time(about.get("updated_time")),
                        )
                    )
        return sorted(found, key=lambda entry: entry.reference)

    def mark(self) -> object:
        # It does not tell when something changes, so it is asked again from time to time.
        return int(time.monotonic() / _LOOK_AGAIN_S)

    def close(self) -> None:
        self._own = threading.local()

    def _path(self, reference: str) -> str:
        prefix = self._options.prefix.strip("/")
        return f"{prefix}/{reference}" if prefix else reference

    def _references(self, below: str) -> Iterator[str]:
        answer = self._ask(
            lambda kv: kv.list_secrets(
                path=self._path(below).rstrip("/"), mount_point=self._options.mount
            )
        )
        keys = cast("list[str]", _inner(answer or {}, "data").get("keys") or [])
        for key in keys:
            if key.endswith("/"):
                yield from self._references(f"{below}{key}")
            else:
                yield f"{below}{key}"

    def _ask(self, do: Callable[[Any], Answer]) -> Answer | None:
        """What the engine answers; nothing when there is nothing. Raises a fault."""
        try:
            return do(self._client().secrets.kv.v2)
        except hvac.exceptions.InvalidPath as error:
            # Without an entry the list of errors is empty; without the engine it is not.
            if getattr(error, "errors", None):
                raise _no_engine(self._options) from None
            return None
        except (hvac.exceptions.Forbidden, hvac.exceptions.Unauthorized):
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "vault-denied",
                "the vault server does not let this token do that",
                hint="log in there again, or set VAULT_TOKEN",
            ) from None
        except hvac.exceptions.RateLimitExceeded:
            raise _away("the vault server has too many requests now") from None
        except hvac.exceptions.VaultDown:
            raise _away("the vault server is sealed, or in maintenance") from None
        except (hvac.exceptions.VaultError, ValueError, KeyError, TypeError) as error:
            # Its words may be anything; the kind is ours to tell.
            raise _away(f"the vault server answered {type(error).__name__}") from None
        except requests.Timeout:
            raise _away("the vault server does not answer in time") from None
        except requests.RequestException as error:
            raise _away(f"the vault server is not reached ({type(error).__name__})") from None

    def _client(self) -> Any:
        client = getattr(self._own, "client", None)
        token = self._token()
        if client is None or self._own.token != token:
            client = hvac.Client(
                url=self._options.address,
                token=token,
                namespace=self._options.namespace or None,
                verify=self._options.ca_file or True,
                # It takes parts of seconds too, whatever it declares.
                timeout=cast("int", self._options.timeout_ms / 1000),
                # A token must not follow where a server points.
                allow_redirects=False,
            )
            self._own.client, self._own.token = client, token
        return client


def _inner(answer: Any, *keys: str) -> dict[str, Any]:
    """What lies in an answer; a fault if it is no answer of this API."""
    for key in keys:
        answer = cast("dict[str, Any]", answer).get(key) if isinstance(answer, dict) else None
    if answer is None:
        return {}
    if not isinstance(answer, dict):
        raise _away("the vault server answered something else")
    return cast("dict[str, Any]", answer)


def _time(text: object) -> float:
    try:
        # Nanoseconds are more than Python reads.
        head, _, rest = str(text).partition(".")
        digits = rest.rstrip("Z").split("+")[0][:6].ljust(6, "0")
        return datetime.fromisoformat(f"{head.removesuffix('Z')}.{digits}+00:00").timestamp()
    except ValueError:
        return 0.0


def _away(why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "vault-unavailable",
        why,
        hint="look at it with `switchboard vault doctor`",
    )


def _no_engine(options: VaultOptions) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "vault-engine-missing",
        f"the vault server has no KV engine of version 2 at `{options.mount}`",
        hint="set `mount` in `[vault]` of `config.toml`",
    )
