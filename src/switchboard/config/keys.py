"""A key of the configuration as a row of a table.

A row says everything that is to be known about a key. Readers, spellings, environment variables,
flags, limits for a workspace, fingerprints, defaults, schemas and the reference page derive from
the rows. `settings.fields` holds the rows of Switchboard; a provider declares its own section.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from switchboard.config.layers import Layer, MergedLayers
from switchboard.config.problems import Problem
from switchboard.config.strict import Items, Members, Table, Truth, Unknown, Whole

# `.mcp.json` is the file of one suite child; `--config` any file that a user names by hand.
FileName = Literal["config.toml", "mcp.json", "switchboard.config.json", ".mcp.json", "--config"]
# A workspace is somebody else's until it is trusted: it may set a key, only make it stricter, or
# not touch it at all.
Workspace = Literal["sets", "tightens", "never"]
# What of a key a fingerprint covers, so that a change asks for trust again: nothing, the value,
# its members, if it has any, the value unless it is the default (for keys that came
# later: older fingerprints stay as they are), or the value of a process in a sandbox.
Bound = Literal["no", "value", "members", "unless-default", "sandboxed"]
# What of a section's fields counts in this layer. Problems are appended to the list.
Admit = Callable[[MergedLayers, Layer, dict[str, Any], list[Problem]], dict[str, Any]]


class Field(Struct, frozen=True):
    """One key: what it may hold, how it is written, and who may set it."""

    # In snake case: the attribute of the value that the section is read into.
    name: str
    # Of `config.strict`. Its `about` is the documentation of the key.
    kind: Any
    # How camel-case files write the name, where that does not follow from it.
    alias: str = ""
    # Only where the section's value has no attribute to take the default from.
    default: Any = None
    # The files that may hold it; `None` means the file of its section.
    files: tuple[FileName, ...] | None = None
    workspace: Workspace = "sets"
    # Environment variables that set it. The last one that is set wins.
    variables: tuple[str, ...] = ()
    flag: str = ""
    bound: Bound = "no"
    # The key outside of all tables that this one is another spelling of.
    means: str = ""
    # Why setting it changes nothing yet.
    unused: str = ""

    def spelled(self, file: FileName) -> str:
        """The key as a file writes it."""
        if file not in ("switchboard.config.json", ".mcp.json"):
            return self.name
        return self.alias or camel(self.name)

    @property
    def order(self) -> tuple[Any, ...]:
        """Its values from the loosest on; none for a kind of which nobody can tell by itself."""
        return (False, True) if isinstance(self.kind, Truth) else getattr(self.kind, "choices", ())

    def widens(self, value: Any, below: Any) -> bool:
        """Whether a value is looser than the one below it, as loose as can be, or may be either."""
        order = self.order
        return not order or order.index(value) < max(1, order.index(below))


class Section(Struct, frozen=True, kw_only=True):
    """One table of a file, the keys that it takes, and the value that it is read into."""

    # Empty for the keys that stand outside of all tables.
    name: str
    fields: tuple[Field, ...]
    # A struct with an attribute for each key; its defaults are those of the keys.
    into: type[Struct] | None = None
    file: FileName = "config.toml"
    # Other files that take the same table, each with its own spelling of the keys.
    also: tuple[FileName, ...] = ()
    # How messages name it: `[logging]` unless said otherwise.
    noun: str = ""
    about: str = ""
    # The table holds one object for each name that a user chooses, as `[mcp.NAME]` does.
    is_named: bool = False
    required: tuple[str, ...] = ()
    notes: dict[str, str] = {}
    unknown: Unknown = "error"
    # Placeholders are filled once it is known whether the thing is trusted.
    fills_late: bool = False
    admit: Admit | None = None
    # Why nothing in it has an effect yet.
    unused: str = ""

    def fields_of(self, file: FileName) -> dict[str, Field]:
        """The fields that a file may hold, as it writes them."""
        return {
            field.spelled(file): field
            for field in self.fields
            if file in (field.files if field.files is not None else (self.file, *self.also))
        }

    def shape(self, file: FileName | None = None, **other: Any) -> Table:
        """What a file may hold of it. `other` kinds take the place of those in the table."""
        where = file or self.file
        kinds = {name: field.kind for name, field in self.fields_of(where).items()}
        return Table(
            noun=self.noun or f"`[{self.name}]`",
            about="" if self.is_named else self.about,
            fields={**kinds, **other},
            required=self.required,
            notes=self.notes,
            unknown=self.unknown,
        )

    def kind(self, file: FileName | None = None) -> Table | Members:
        """What stands under its name in its own file, or in another one that takes it."""
        shape = self.shape(file)
        return Members(value=shape, about=self.about) if self.is_named else shape

    def default(self, field: Field) -> Any:
        """The value of a key that nobody sets."""
        known = {} if self.into is None else defaults_of(self.into)
        return known.get(field.name, field.default)

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Checked values of its own file as attributes. Absent ones keep the default."""
        if not values or self.into is None:
            return {}
        known = self.into.__struct_fields__
        return {
            field.name: frozen(field.kind, value)
            for field in self.fields
            if (value := values.get(field.spelled(self.file))) is not None and field.name in known
        }


@cache
def camel(name: str) -> str:
    """`rpc_timeout_ms` as `rpcTimeoutMs`."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


@cache
def defaults_of(struct: type[Struct]) -> dict[str, Any]:
    """The defaults of attributes, but for those that are made anew for each value."""
    defaults = struct.__struct_defaults__
    names = struct.__struct_fields__[-len(defaults) :] if defaults else ()
    return {
        name: default
        for name, default in zip(names, defaults, strict=True)
        if default is None or isinstance(default, str | int | tuple)
    }


def frozen(kind: Any, value: Any) -> Any:
    """A checked value as structs keep it."""
    match kind:
        case Whole():
            # `8000.0` is a whole number in JSON.
            return int(value)
        case Items():
            return tuple(value)
        case Members():
            return dict(value)
        case _:
            return value
