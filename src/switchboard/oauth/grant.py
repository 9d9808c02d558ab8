"""One login as it is kept: whose it is, its tokens, and how it has fared."""

import hashlib

import msgspec
from msgspec import Struct

from switchboard.children.schema import ServerEntry, whose_login
from switchboard.oauth.client_identity import ClientIdentity, ClientRegistration
from switchboard.oauth.metadata import AuthMethod
from switchboard.oauth.urls import origin_of, resource_of

_GRANTS = "oauth/grant/"
_ENTRIES = "oauth/entry/"


class GrantKey(Struct, frozen=True, kw_only=True):
    """What makes two logins the same. The name of a server says nothing about where tokens go."""

    issuer: str
    resource: str
    client_id: str
    account: str = ""


class Grant(Struct, frozen=True, kw_only=True):
    """What an authorization server gave, and what is needed to have it renewed."""

    key: GrantKey
    token_url: str
    revocation_url: str = ""
    method: AuthMethod = "none"
    # Of a client that was registered by us. That of a configured one is looked up at each use.
    client_secret: str = ""
    # Of such a client, where its server lets us take it back.
    registration: ClientRegistration | None = None
    access_token: str = ""
    refresh_token: str = ""
    # By the clock of the world; 0 when the server did not say.
    expires_at: float = 0.0
    obtained_at: float = 0.0
    asked: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    logged_in_at: float = 0.0
    refreshed_at: float = 0.0
    # The renewal failed for good, and only another login helps.
    is_spent: bool = False
    last_error: str = ""
    failed_at: float = 0.0

    def __repr__(self) -> str:
        # Whatever shows it, in a log or a traceback, shows no token.
        return f"Grant({self.key})"

    @property
    def reference(self) -> str:
        """What the vault calls it."""
        return _GRANTS + _digest(self.key)

    def client(self, configured_secret: str) -> ClientIdentity:
        """Who asks for its renewal."""
        return ClientIdentity(
            client_id=self.key.client_id,
            secret=self.client_secret or configured_secret,
            method=self.method,
        )

    def is_for(self, url: str) -> bool:
        """Whether its token may be sent to this address."""
        return origin_of(self.key.resource) == origin_of(url)

    def due_at(self) -> float:
        """When to renew it: early enough that nobody waits. 0 when that cannot be said."""
        if not self.expires_at or not self.refresh_token:
            return 0.0
        lifetime = self.expires_at - (self.obtained_at or self.expires_at)
        return self.expires_at - min(300.0, max(0.0, lifetime) / 5)


def entry_reference(entry: ServerEntry) -> str:
    """Where the vault says which login an entry uses.

    Everything that decides where tokens come from and go to is a part of it: whoever changes the
    `url` or the `auth` of a server does not take its login along.
    """
    auth = msgspec.to_builtins(entry.auth) if entry.auth is not None else None
    if auth is not None:
        # Other scopes are a matter of the next login, and a renamed secret is none of its.
        auth = {name: auth[name] for name in auth if name not in ("scopes", "client_secret_ref")}
    return _ENTRIES + _digest((resource_of(entry.url), auth, whose_login(entry)))


def _digest(of: object) -> str:
    return hashlib.sha256(msgspec.json.encode(of, order="deterministic")).hexdigest()[:32]
