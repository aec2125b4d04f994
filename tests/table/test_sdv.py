"""Metadata of the Synthetic Data Vault as a draft."""

import json

import pytest

import kernelease as ke
from kernelease.drafting.drafts import SdvTable
from kernelease.errors import SchemaError

COLUMNS = {
    "guest_email": {"sdtype": "email", "pii": True},
    "id": {"sdtype": "id", "regex_format": "ID_[0-9]{3}"},
    "age": {"sdtype": "numerical", "computer_representation": "Int64"},
    "visits": {"sdtype": "numerical", "computer_representation": "UInt8"},
    "rate": {"sdtype": "numerical"},
    "arrived": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
    "paid": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"},
    "room": {"sdtype": "categorical", "order": ["BASIC", "SUITE"]},
    "town": {"sdtype": "categorical"},
    "member": {"sdtype": "boolean"},
}
NEW = {
    "tables": {"guests": {"columns": COLUMNS, "primary_key": "guest_email"}},
    "METADATA_SPEC_VERSION": "V1",
}
OLD = {"columns": COLUMNS, "primary_key": "guest_email", "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1"}
FILLED = {
    "age": ("integer", 0, 120),
    "visits": ("integer", 0, 50),
    "rate": ("number", 0.0, 900.0),
    "arrived": ("date", "2020-01-01", "2025-12-31"),
    "paid": ("datetime", "2020-01-01T00:00:00", "2025-12-31T00:00:00"),
}


@pytest.mark.parametrize("metadata", [NEW, OLD], ids=["V1", "SINGLE_TABLE_V1"])
def test_kinds_become_types_and_identifiers_are_left_out(metadata):
    text = ke.draft(metadata=metadata)
    for column, (kind, _, _) in FILLED.items():
        assert f'[columns.{column}]\ntype = "{kind}"\nmin = "FILL IN"' in text
    assert '[columns.room]\ntype = "category"\nvalues = ["BASIC", "SUITE"]' in text
    assert '[columns.town]\ntype = "category"\nvalues = ["FILL IN"]' in text
    assert '[columns.member]\ntype = "boolean"' in text
    assert "[columns.guest_email]" not in text
    assert "# Left out, since it identifies people: 'id'" in text


def test_a_draft_is_refused_until_it_is_filled_in_and_loads_then():
    text = ke.draft(metadata=NEW)
    with pytest.raises(SchemaError, match="not filled in yet"):
        ke.Schema.parse(text)
    for column, (kind, low, high) in FILLED.items():
        draft = f'[columns.{column}]\ntype = "{kind}"\n'
        begin = text.index(draft) + len(draft)
        end = text.index("nullable", begin)
        text = text[:begin] + f"min = {json.dumps(low)}\nmax = {json.dumps(high)}\n" + text[end:]
    schema = ke.Schema.parse(text.replace('["FILL IN"]', '["Rome"]'))
    assert schema.name == "guests"
    assert schema.names == ("age", "visits", "rate", "arrived", "paid", "room", "town", "member")


def test_from_a_file(tmp_path):
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(NEW))
    assert ke.draft(metadata=path) == ke.draft(metadata=str(path)) == ke.draft(metadata=NEW)


def test_one_of_several_tables_is_named_or_all_are_drafted():
    two = {"tables": {"a": {"columns": {"x": {"sdtype": "boolean"}}}, "b": {"columns": {"y": {"sdtype": "boolean"}}}}}
    assert "[columns.y]" in ke.draft(metadata=two, name="b")
    both = ke.draft(metadata=two)
    assert "[tables.a.columns.x]" in both
    assert "[tables.b.columns.y]" in both
    with pytest.raises(SchemaError, match="Name one: table='a' or 'b'"):
        SdvTable.read(two)
    with pytest.raises(SchemaError, match="no table 'c'"):
        ke.draft(metadata=two, name="c")


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not valid JSON"), ("[]", "must be a JSON object"), ('{"tables": {}}', "no table"), ("{}", "no columns")],
)
def test_what_is_no_metadata(tmp_path, content, message):
    (tmp_path / "m.json").write_text(content)
    with pytest.raises(SchemaError, match=message):
        ke.draft(metadata=tmp_path / "m.json")


def test_a_missing_file(tmp_path):
    with pytest.raises(SchemaError, match="can't be read"):
        ke.draft(metadata=tmp_path / "none.json")


def test_nothing_to_release():
    with pytest.raises(ke.errors.ParameterError, match="no column that can be released"):
        ke.draft(metadata={"columns": {"id": {"sdtype": "id"}}})
