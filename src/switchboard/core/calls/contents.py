"""What a client asks of a prompt or a resource: read it, fill it in, complete an argument of it."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.json import encode

from switchboard.core.catalog.offers import Kind
from switchboard.core.faults import Fault, FaultCode

# Where the thing that a request names is looked up. A completion may name a resource by its URI.
Sought = Literal["prompts", "resources", "templates"]
# Longer than any browser takes. It is compared with every template of every server, and kept.
MOST_NAME_LETTERS = 8192
GivenName = Annotated[str, Meta(max_length=MOST_NAME_LETTERS)]


class Reading(Struct, frozen=True):
    """`resources/read`."""

    uri: GivenName

    @property
    def sought(self) -> tuple[Sought, str]:
        """What kind of thing is meant, and its name."""
        return "resources", self.uri

    def params(self, own: str) -> "tuple[bytes | Raw, ...]":
        """The parameters with this name in place of the client's, without the closing brace."""
        return (b'{"uri":%b' % encode(own),)


class Filling(Struct, frozen=True):
    """`prompts/get`."""

    name: GivenName
    arguments: Raw = Raw(b"{}")

    @property
    def sought(self) -> tuple[Sought, str]:
        return "prompts", self.name

    def params(self, own: str) -> "tuple[bytes | Raw, ...]":
        return (b'{"name":%b,"arguments":' % encode(own), self.arguments)


class PromptRef(Struct, frozen=True, tag="ref/prompt"):
    """The prompt whose argument is completed."""

    name: GivenName


class ResourceRef(Struct, frozen=True, tag="ref/resource"):
    """The template whose variable is completed."""

    uri: GivenName


class Completing(Struct, frozen=True):
    """`completion/complete`."""

    ref: PromptRef | ResourceRef
    argument: Raw
    context: Raw = Raw(b"")

    @property
    def sought(self) -> tuple[Sought, str]:
        if isinstance(self.ref, PromptRef):
            return "prompts", self.ref.name
        return "templates", self.ref.uri

    def params(self, own: str) -> "tuple[bytes | Raw, ...]":
        ref = PromptRef(own) if isinstance(self.ref, PromptRef) else ResourceRef(own)
        context = b',"context":%b' % bytes(self.context) if self.context else b""
        return (b'{"ref":%b,"argument":' % encode(ref), self.argument, context)


ContentRequest = Reading | Filling | Completing

METHODS: dict[str, Any] = {
    "resources/read": Reading,
    "prompts/get": Filling,
    "completion/complete": Completing,
}
# Listings by method: the kind of what is listed, and the member of the result.
LISTINGS: dict[str, tuple[Kind, str]] = {
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("templates", "resourceTemplates"),
}


def read_request(method: str, params: Raw) -> ContentRequest:
    """The request, or an `invalid_argument` fault."""
    try:
        return msgspec.json.decode(params, type=METHODS[method])
    except msgspec.MsgspecError as error:
        raise Fault(FaultCode.INVALID_ARGUMENT, "params-invalid", str(error)) from None
