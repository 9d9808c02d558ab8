"""The relay mark, its record and the table made of it."""

import json
from pathlib import Path

import pytest

from support.relays import BEGIN, END, RelayRecord, is_behind, relays, with_table


def claim(feature: str, eras: str, how: str = "yes") -> str:
    return json.dumps([feature, eras, how])


def test_a_mark_names_a_feature_and_eras_that_there_are() -> None:
    assert relays("prompts", "modern→handshake").mark.args[0] == "prompts"
    with pytest.raises(ValueError, match="no such feature"):
        relays("promts", "modern→handshake")
    with pytest.raises(ValueError, match="no such pair"):
        relays("prompts", "modern→ancient")


def test_a_cell_needs_a_passing_test_and_none_that_fails() -> None:
    record = RelayRecord()
    record.note("one", [claim("prompts", "modern→modern")], passed=True)
    record.note("two", [claim("ping", "modern→modern")], passed=True)
    record.note("three", [claim("ping", "modern→modern")], passed=False)
    record.note("four", [claim("roots", "handshake→modern", "as a question")], passed=True)
    table = record.table()
    assert "| prompts | — | — | — | yes |" in table
    assert "| ping | — | — | — | — |" in table
    assert "| roots | — | as a question | — | — |" in table


def test_a_page_is_behind_until_the_table_is_written_into_it(tmp_path: Path) -> None:
    page = tmp_path / "relay.md"
    record = RelayRecord()
    record.note("one", [claim("prompts", "modern→modern")], passed=True)
    assert not is_behind(record, page)
    page.write_text(f"# Relay\n\n{BEGIN}old\n{END}\nMore.\n", "utf-8")
    assert is_behind(record, page)
    page.write_text(with_table(page.read_text("utf-8"), record.table()), "utf-8")
    assert not is_behind(record, page)
    assert page.read_text("utf-8").endswith(f"{END}\nMore.\n")


def test_what_other_runs_left_in_the_record_stays(tmp_path: Path) -> None:
    path = tmp_path / "relayed.json"
    for test, feature in (("one", "prompts"), ("two", "ping")):
        record = RelayRecord()
        record.note(test, [claim(feature, "modern→modern")], passed=True)
        record.save(path, afresh=False)
    assert len(RelayRecord.load(path).proven()) == 2
