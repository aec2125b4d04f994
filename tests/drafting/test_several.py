"""Drafts of several tables: keys by names and by values, the unit, and where each table hangs."""

import numpy as np
import pandas as pd
import pytest

import kernelease as ke
from kernelease.drafting.several import draft_tables
from kernelease.errors import ParameterError, SchemaError
from kernelease.relational.schema_of_tables import Tables
from kernelease.strangers import parse_toml
from kernelease.table.draft import MARK


def shop(customers: int = 60) -> dict[str, pd.DataFrame]:
    """Customers with purchases, each of a product and with its payments; products are what everybody may know."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(customers), rng.integers(0, 6, customers))
    purchases = pd.DataFrame({"id": np.arange(len(owner)) + 1000, "buyer": 500 + owner})
    purchases["product_id"] = rng.choice(["p1", "p2", "p3"], len(owner))
    purchases["price"] = rng.integers(1, 50, len(owner))
    purchases["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, len(owner)), unit="D")
    payments = pd.DataFrame({"purchase_id": rng.choice(purchases["id"], 150), "amount": rng.integers(1, 9, 150)})
    payments["customer"] = payments.merge(purchases, left_on="purchase_id", right_on="id")["buyer"]
    people = pd.DataFrame({"id": 500 + np.arange(customers), "town": rng.choice(["a", "b"], customers)})
    products = pd.DataFrame({"id": ["p1", "p2", "p3"], "kind": ["new", "old", "new"]})
    return {"products": products, "payments": payments, "customers": people, "purchases": purchases}


def named() -> dict[str, pd.DataFrame]:
    """The same with names that say what they refer to."""
    return shop() | {"purchases": shop()["purchases"].rename(columns={"buyer": "customer_id"})}


def test_names_of_columns_say_where_tables_hang() -> None:
    text = ke.draft(named())
    read = parse_toml(text)
    assert read["unit"]["table"] == "customers"
    tables = read["tables"]
    assert tables["customers"]["key"] == "id"
    assert [tables["purchases"][key] for key in ("key", "parent", "foreign_key")] == ["id", "customers", "customer_id"]
    assert [tables["payments"][key] for key in ("parent", "foreign_key")] == ["purchases", "purchase_id"]
    assert "FILL IN" in tables["purchases"]["max_rows"]
    assert '# order = "day"' in text
    assert set(tables["purchases"]["columns"]) == {"price", "day", "product_id"}
    assert "customer" in tables["payments"]["columns"]  # a parent of its parent, and no second key
    assert MARK not in text


def test_a_table_that_others_refer_to_is_a_code_book_if_it_is_public(tmp_path) -> None:
    text = ke.draft(named())
    read = parse_toml(text)["tables"]
    assert read["products"] == {"public": "FILL IN", "key": "id"}
    assert read["purchases"]["columns"]["product_id"] == {"type": "category", "codebook": "products"}
    with pytest.raises(SchemaError, match="public is not filled in yet"):
        Tables.parse(text, folder=tmp_path)


def test_a_draft_by_names_depends_on_no_cell() -> None:
    others = {name: table.iloc[:1] for name, table in named().items()}
    assert ke.draft(named()) == ke.draft(others)


def test_values_show_keys_and_propose_caps_that_have_to_be_confirmed(tmp_path) -> None:
    data = shop()
    data["products"].to_csv(tmp_path / "products.csv", index=False)
    text = ke.draft(data, look=True).replace('public = "FILL IN"', 'public = "products.csv"')
    tables = Tables.parse(text, folder=tmp_path)
    assert tables.confirmed is False
    assert tables.names == ("customers", "purchases", "payments")
    purchases = tables.table("purchases")
    assert (purchases.parent, purchases.foreign_key, purchases.max_rows) == ("customers", "buyer", 5)
    marked = [line for line in text.splitlines() if line.startswith(("foreign_key", "max_rows"))]
    assert len(marked) == 4
    assert all(MARK in line for line in marked)
    kept = {name: table for name, table in data.items() if name != "products"}
    with pytest.raises(ParameterError, match="confirmed"):
        ke.plan(tables, privacy=(1.0, 1e-6), rows=60)
    confirmed = Tables.parse(text.replace("confirmed = false", "confirmed = true"), folder=tmp_path)
    assert ke.check(kept, confirmed).persons == 60


def test_values_overrule_names() -> None:
    """A column that is called like a key, and whose values are none of that table's, is no key."""
    data = shop()
    data["purchases"]["customer_no"] = np.arange(len(data["purchases"])) * 1000
    assert 'foreign_key = "buyer"' in ke.draft(data, look=True)
    assert 'foreign_key = "customer_no"' in draft_tables(data)
    twice = {"homes": pd.DataFrame({"home": [1, 1, 2, 2], "a": [1, 2, 3, 4]}), "people": pd.DataFrame({"home": [1, 2]})}
    assert 'parent = "FILL IN"' in ke.draft(twice, look=True)


def test_two_parents_need_an_owner() -> None:
    people = pd.DataFrame({"person": range(30), "age": 5})
    cars = pd.DataFrame({"car": range(100, 130), "person": range(30), "made": 1999})
    homes = pd.DataFrame({"home": range(200, 230), "person": range(30), "rooms": 3})
    trips = pd.DataFrame({"car": [100, 101] * 20, "home": [200, 201] * 20, "km": 7})
    text = ke.draft({"trips": trips, "homes": homes, "cars": cars, "people": people})
    trips = parse_toml(text)["tables"]["trips"]
    assert trips["parent"] == ["homes", "cars"]
    assert trips["foreign_key"] == ["home", "car"]
    assert trips["owner"] == "homes"


def test_a_folder_of_files_is_drafted_alike(tmp_path) -> None:
    for name, table in shop().items():
        table.to_csv(tmp_path / f"{name}.csv", index=False, sep=";")
    text = ke.draft(tmp_path, look=True)
    assert parse_toml(text)["tables"]["purchases"]["source"]["separator"] == ";"
    assert 'foreign_key = "buyer"' in text


def test_dates_that_a_look_finds_are_proposed_as_orders_and_rules(tmp_path) -> None:
    data = shop()
    data["customers"]["joined"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60), unit="D")
    for name, table in data.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)  # a CSV file declares no types
    text = ke.draft(tmp_path, look=True)
    assert '# order = "day"  # if its records are a sequence' in text
    assert '# rules = ["purchases.day >= customers.joined"]' in text


def test_files_with_the_same_columns_are_one_table(tmp_path) -> None:
    for part in ("a", "b"):
        pd.DataFrame({"age": [1, 2]}).to_csv(tmp_path / f"{part}.csv", index=False)
    assert "[columns.age]" in ke.draft(tmp_path)


def test_metadata_of_several_tables_has_their_keys() -> None:
    number = {"sdtype": "numerical", "computer_representation": "Int64"}
    metadata = {
        "tables": {
            "homes": {"primary_key": "home", "columns": {"home": {"sdtype": "id"}, "rooms": number}},
            "people": {"columns": {"lives_in": {"sdtype": "id"}, "age": number}},
        },
        "relationships": [
            {
                "parent_table_name": "homes",
                "parent_primary_key": "home",
                "child_table_name": "people",
                "child_foreign_key": "lives_in",
            }
        ],
    }
    read = parse_toml(ke.draft(metadata=metadata))
    assert read["unit"]["table"] == "homes"
    assert (read["tables"]["people"]["parent"], read["tables"]["people"]["foreign_key"]) == ("homes", "lives_in")
    assert set(read["tables"]["people"]["columns"]) == {"age"}
    with pytest.raises(SchemaError, match="a relationship must have"):
        ke.draft(metadata=metadata | {"relationships": [{"parent_table_name": "homes"}]})
    other = metadata["relationships"][0] | {"child_table_name": "cars"}
    with pytest.raises(SchemaError, match="of a table that there is not"):
        ke.draft(metadata=metadata | {"relationships": [other]})


def test_what_can_not_be_drafted_is_told(tmp_path) -> None:
    with pytest.raises(ParameterError, match="two or more, found 1"):
        ke.draft({"a": pd.DataFrame({"x": [1]})})
    with pytest.raises(ParameterError, match="Rename it"):
        ke.draft({"A b": pd.DataFrame({"x": [1]}), "c": pd.DataFrame({"y": [1]})})
    with pytest.raises(ParameterError, match="give a folder"):
        draft_tables(tmp_path / "nowhere")
    with pytest.raises(ParameterError, match="reads private rows"):
        ke.draft(public=pd.DataFrame({"x": [1]}), look=True)
    for suffix in ("csv", "tsv"):
        (tmp_path / f"a.{suffix}").write_text("x,y\n1,2\n")
    with pytest.raises(ParameterError, match="would be one table"):
        draft_tables(tmp_path)
