"""Schemas of several tables: what they become, and mistakes, each with a line that helps."""

import dataclasses

import pytest

from kernelease.errors import SchemaError
from kernelease.relational.schema_of_tables import Tables, same_after_saving

GOOD = """\
[unit]
table = "homes"

[tables.homes]
key = "home"

[tables.homes.columns.town]
type = "category"
values = ["a", "b"]

[tables.homes.columns.elders]
aggregate = "count(people, age > 64)"
max = 3

[tables.people]
parent = "homes"
foreign_key = "home"
key = "person"
max_rows = 4
order = "age"
constraints = ["age >= 0"]

[tables.people.columns.age]
type = "integer"
min = 0
max = 99

[tables.visits]
parent = "people"
foreign_key = "person"
max_rows = 3

[tables.visits.columns.ill]
type = "boolean"
"""

MISTAKES = [  # what is written in place of what, the line that is told, and words that help
    ('table = "homes"\n', "", 1, "needs table"),
    ('table = "homes"\n', 'table = "home"\n', 2, "Did you mean homes?"),
    ('table = "homes"\n', 'table = "homes"\nunit = "home"\n', 3, "unknown key 'unit'"),
    ('table = "homes"\n', 'table = "homes"\nneighbours = "replace"\n', 3, "Did you mean replace-one?"),
    ('table = "homes"\n', 'table = "homes"\nname = ""\n', 3, "name must be"),
    ('table = "homes"\n', 'table = "homes"\nconfirmed = 1\n', 3, "confirmed must be"),
    ('table = "homes"\n', 'table = "people"\n', 16, "is the table of persons, and has no parent"),
    ('[unit]\ntable = "homes"\n', "", None, "needs [unit]"),
    ("[unit]\n", "[table]\nname = 1\n[unit]\n", 1, "unknown key 'table'"),
    ("[unit]\n", "[unit\n", 1, "not valid TOML"),
    ('key = "home"\n\n', "\n", 4, "needs key"),
    ('key = "home"\n\n', "key = 7\n\n", 5, "needs key"),
    ('key = "home"\n\n', 'key = "town"\n\n', 7, "can't be released"),
    ('key = "home"\n\n', 'key = "home"\nparent = "people"\n\n', 6, "has no parent"),
    ('parent = "homes"', 'parent = "home"', 16, "Did you mean homes?"),
    ('parent = "homes"', 'parent = "visits"', 16, "circle"),
    ('parent = "homes"\n', "", 15, "needs parent"),
    ('foreign_key = "home"\n', "", 15, "needs foreign_key"),
    ('foreign_key = "home"\n', 'foreign_key = "age"\n', 23, "can't be released"),
    ('key = "person"', 'key = "home"', 18, "one column"),
    ("max_rows = 4", "max_rows = 0", 19, "1 to 1000"),
    ("max_rows = 4", 'max_rows = "4"', 19, "1 to 1000"),
    ("max_rows = 4\n", "", 15, "needs max_rows"),
    ("max_rows = 4", "max_row = 4", 19, "Did you mean max_rows?"),
    ('order = "age"', 'order = "aeg"', 20, "Did you mean age?"),
    ('constraints = ["age >= 0"]', 'constraints = ["agee >= 0"]', 21, "agee"),
    ("max = 99", "max = -1", 26, "age"),
    ('type = "integer"', 'type = "integre"', 24, "Did you mean integer?"),
    ("[tables.visits]\n", '[tables.codes]\npublic = "codes.csv"\n[tables.visits]\n', 29, "beside a schema file"),
    ("[tables.visits]\n", '[tables.codes]\npublic = "codes.csv"\nmax_rows = 3\n[tables.visits]\n', 30, "is public"),
    ("[tables.visits]\n", '[tables.visits]\nowner = "homes"\n', 29, "which of several parents"),
    ('type = "boolean"', 'aggregate = "count(people)"', 33, "has max, a whole number"),
    ("count(people, age > 64)", "sum(people, age)", 11, "must be"),
    ("count(people, age > 64)", "total(people.age)", 11, "aggregate must be"),
    ("count(people, age > 64)", "summ(people)", 11, "Did you mean sum?"),
    ("count(people, age > 64)", "count(people.age)", 11, "aggregate must be"),
    ("count(people, age > 64)", "share(people)", 11, "name a condition"),
    ("count(people, age > 64)", "sum(people.age)", 11, "needs min and max"),
    ("count(people, age > 64)", "mean(people.aeg)", 11, "Did you mean age?"),
    ("count(people, age > 64)", "any(people, age > 64)", 11, "unknown key 'max' beside aggregate"),
    ('count(people, age > 64)"\nmax = 3', 'min(people.age)"\nmin = 8\nmax = 3', 11, "min must be below max"),
    ('count(people, age > 64)"\nmax = 3', 'mean(people.age)"\nmx = 3', 11, "Did you mean max?"),
    ("count(people, age > 64)", "count(visits)", 11, "whose parent is not 'homes'"),
    ("count(people, age > 64)", "count(people, agee > 64)", 11, "agee"),
    ("count(people, age > 64)", "count(people, 1 < 2)", 11, "count(people, 1 < 2)"),
    ("max = 3\n", "max = 5\n", 11, "from 1 to the max_rows"),
    ("max = 3\n", "max = 2.5\n", 11, "a whole number"),
    ("columns.elders]", "columns.people]", 11, "of this name"),
    ("max = 99\n", "max = 999\n", 11, "counted in cells"),
    ("[tables.visits", "[tables.Visits", 28, "names a file"),
    (
        "[tables.homes.columns.town]",
        '[tables.homes.columns.people]\ntype = "boolean"\n[tables.homes.columns.town]',
        17,
        "a column of this name",
    ),
    ('parent = "people"', 'parent = "homes"\nkey = "person"', 30, "one column"),
]


@pytest.mark.parametrize(
    ("key", "who"),
    [("home_id", "home"), ("homeId", "home"), ("Home ID", "Home"), ("id", "row of homes"), ("paid", "paid")],
)
def test_a_key_says_whom_the_guarantee_is_about(key: str, who: str) -> None:
    tables = Tables.parse(GOOD.replace('key = "home"', f'key = "{key}"', 1))
    assert tables.unit_in_words == f"each {who} with all its people and visits"


def test_a_good_one() -> None:
    tables = Tables.parse(GOOD)
    assert tables.flat.names == (
        *("homes.town", "homes.people", "homes.elders", "people.age", "people.visits", "visits.ill"),
    )
    assert tables.unit_in_words == "each home with all its people and visits"
    assert tables.counted_sizes == (2, 5, 4, 101, 5, 3, 102, 102, 102, 4)  # next, first and last of ages; siblings
    assert [place.before for place in tables.places] == [(), (0, 1, 2), (0, 1, 2, 3, 4)]
    assert Tables.parse(tables.to_toml()) == tables
    assert same_after_saving(tables)


@pytest.mark.parametrize(("old", "new", "line", "words"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_told_with_their_line(old, new, line, words) -> None:
    assert GOOD.count(old) >= 1
    with pytest.raises(SchemaError) as caught:
        Tables.parse(GOOD.replace(old, new) if "visits" in old else GOOD.replace(old, new, 1), source="homes.toml")
    message = str(caught.value)
    assert words in message
    if line is not None:
        assert message.startswith(f"homes.toml, line {line}:"), message


def test_there_are_thirty_of_them() -> None:
    assert len(MISTAKES) >= 30


def test_four_deep_is_too_deep() -> None:
    more = GOOD.replace("max_rows = 3", 'max_rows = 3\nkey = "visit"')
    more += '[tables.drugs]\nparent = "visits"\nforeign_key = "visit"\nmax_rows = 2\n'
    more += '[tables.drugs.columns.new]\ntype = "boolean"\n'
    with pytest.raises(SchemaError, match="4 tables deep"):
        Tables.parse(more)


def test_one_table_is_declared_otherwise() -> None:
    with pytest.raises(SchemaError, match="has no other table"):
        Tables.parse(GOOD.split("[tables.people]", maxsplit=1)[0])


@pytest.mark.parametrize("document", [None, {}, {"tables": [1]}, {"tables": [], "x": 1}, {"tables": [{"table": {}}]}])
def test_strangers_documents_are_refused(document) -> None:
    with pytest.raises(SchemaError):
        Tables.from_dict(document)


NAMELESS = [{"aggregate": "count(people)", "max": 1}]


@pytest.mark.parametrize("given", [3, [4], [{"name": "old", "aggregate": 5, "max": 1}], [{"name": 1}], NAMELESS])
def test_strangers_aggregates_are_refused(given) -> None:
    document = Tables.parse(GOOD).to_dict()
    document["tables"][0]["aggregates"] = given
    with pytest.raises(SchemaError, match="table 'homes'"):
        Tables.from_dict(document)


@pytest.mark.parametrize("given", [{"at": 1}, {"at": ["homes"]}, {"at": None}, ["homes"]])
def test_strangers_references_are_refused(given) -> None:
    document = Tables.parse(GOOD).to_dict()
    document["tables"][1]["references"] = given
    with pytest.raises(SchemaError, match="must be an object of columns and tables"):
        Tables.from_dict(document)


BOOK = "product,kind,price,fresh\nA,food,1.5,true\nB,food,2,false\nC,tool,10,false\n"
SHOP = """\
[unit]
table = "people"
[tables.people]
key = "person"
[tables.people.columns.sex]
type = "category"
values = ["f", "m"]
[tables.purchases]
parent = "people"
foreign_key = "person"
max_rows = 4
[tables.purchases.columns.product]
type = "category"
codebook = "products"
nullable = true
[tables.products]
public = "products.csv"
key = "product"
"""


def test_a_code_book_says_what_follows_from_its_keys(tmp_path) -> None:
    """Its keys are the column's values, its other columns are computed: none of them is read, or measured."""
    (tmp_path / "products.csv").write_text(BOOK)
    (tmp_path / "shop.toml").write_text(SHOP)
    tables = Tables.load(tmp_path / "shop.toml")
    assert tables.names == ("people", "purchases")
    assert tables.flat.names == ("people.sex", "people.purchases", "purchases.product")
    kinds = {one.name: one.type for one in tables.flat.derived}
    named = ("kind", "price", "fresh")
    assert kinds == dict(
        zip((f"purchases.product_{one}" for one in named), ("category", "number", "boolean"), strict=True)
    )
    assert Tables.parse(tables.to_toml()) == tables
    assert same_after_saving(tables)
    (tmp_path / "shop.toml").write_text(SHOP.replace("nullable = true", 'other = "?"'))
    assert Tables.load(tmp_path / "shop.toml").flat.structure.columns[0].nullable


@pytest.mark.parametrize(
    ("old", "new", "book", "line", "words"),
    [
        ('table = "people"', 'table = "products"', BOOK, 2, "nobody to protect"),
        ('codebook = "products"\n', 'values = ["A"]\n', BOOK, 16, "no column refers to it"),
        ('key = "product"', 'key = "kind"', BOOK, 17, "'food' is in the code book more than once"),
        ('key = "product"', 'key = "code"', BOOK, 18, "it has product, kind, price, fresh"),
        ('key = "product"', 'max_rows = "product"', BOOK, 18, "is public, and has no 'max_rows'"),
        ("products.csv", "product.csv", BOOK, 17, "can't be read as CSV"),
        ('key = "product"', 'key = "product"', "product\n", 17, "needs a header"),
    ],
)
def test_mistakes_with_code_books_are_told_with_their_line(tmp_path, old, new, book, line, words) -> None:
    (tmp_path / "products.csv").write_text(book)
    (tmp_path / "shop.toml").write_text(SHOP.replace(old, new))
    with pytest.raises(SchemaError) as caught:
        Tables.load(tmp_path / "shop.toml")
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"shop.toml, line {line}:"), str(caught.value)


def test_no_table_has_a_relation_of_its_own() -> None:
    """One relation is of all tables: a document in which one of them is said to have another was changed."""
    schema = Tables.parse(GOOD)
    root = dataclasses.replace(schema.root, schema=dataclasses.replace(schema.root.schema, neighbours="add-remove"))
    with pytest.raises(SchemaError, match=r"Declare neighbours once, in \[unit\]"):
        dataclasses.replace(schema, tables=(root, *schema.tables[1:]))
