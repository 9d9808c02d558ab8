"""A row of the table of keys says how a key is written, read, limited and left alone."""

import pytest
from msgspec import Struct

from switchboard.config.keys import Field, Section, camel
from switchboard.config.strict import Items, Members, Table, Text, Truth, Whole


class Pond(Struct, frozen=True, kw_only=True):
    depth_cm: int = 120
    fish: tuple[str, ...] = ()


FIELDS = (
    Field(name="depth_cm", kind=Whole(about="How deep.")),
    Field(name="fish", kind=Items(item=Text()), files=("config.toml", ".mcp.json"), alias="pets"),
    Field(name="is_open", kind=Truth(), default=True),
    Field(name="lock", kind=Truth(), workspace="tightens", files=()),
    Field(name="who", kind=Text(choices=("any", "some", "none")), workspace="tightens"),
)
POND = Section(name="pond", fields=FIELDS, into=Pond, about="Water.")


def test_a_file_holds_its_own_fields_in_its_own_spelling() -> None:
    assert list(POND.fields_of("config.toml")) == ["depth_cm", "fish", "is_open", "who"]
    assert list(POND.fields_of(".mcp.json")) == ["pets"]
    assert camel("rpc_timeout_ms") == "rpcTimeoutMs"
    shape = POND.shape()
    assert (shape.noun, shape.about, list(shape.fields)) == (
        "`[pond]`",
        "Water.",
        ["depth_cm", "fish", "is_open", "who"],
    )
    assert shape.fields["depth_cm"].about == "How deep."


def test_a_table_of_names_holds_one_shape_for_each() -> None:
    kind = Section(name="pond", fields=FIELDS, is_named=True).kind()
    assert isinstance(kind, Members)
    assert isinstance(kind.value, Table)
    assert isinstance(POND.kind(), Table)


def test_values_are_read_into_attributes_and_defaults_come_from_them() -> None:
    read = POND.read({"depth_cm": 80.0, "fish": ["carp"], "who": ""})
    assert read == {"depth_cm": 80, "fish": ("carp",)}
    assert Pond(**read) == Pond(depth_cm=80, fish=("carp",))
    assert [POND.default(field) for field in FIELDS] == [120, (), True, None, None]


@pytest.mark.parametrize(
    ("field", "value", "below", "widens"),
    [
        (FIELDS[3], False, False, True),
        (FIELDS[3], True, False, False),
        (FIELDS[3], True, True, False),
        (FIELDS[4], "any", "any", True),
        (FIELDS[4], "some", "any", False),
        (FIELDS[4], "some", "none", True),
        (FIELDS[4], "none", "none", False),
    ],
)
def test_a_workspace_only_makes_a_key_stricter(
    field: Field, value: object, below: object, *, widens: bool
) -> None:
    assert field.widens(value, below) is widens
