"""What a private look finds between columns: values, NULLs and orders that follow from others, and nothing more."""

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

from kernelease.drafting.inspection import check
from kernelease.drafting.looking import draft_by_looking
from kernelease.drafting.relations import Gap, Relation, find_relations
from kernelease.table import Integer, Schema
from kernelease.table.written import Written

ROWS = 400
START = datetime.date(2022, 1, 1)


def columns(seed: int = 0) -> dict[str, Any]:
    """Columns that have nothing to do with each other."""
    draws = np.random.default_rng(seed)
    return {
        "age": draws.integers(18, 90, ROWS),
        "net": draws.integers(100, 90_000, ROWS) / 100,
        "shipping": draws.integers(0, 900, ROWS) / 100,
        "pieces": draws.integers(1, 20, ROWS),
        "opened": [START + datetime.timedelta(days=int(day)) for day in draws.integers(0, 700, ROWS)],
        "city": draws.choice(["Aalen", "Kiel", "Ulm", "Bonn"], ROWS),
        "member": draws.choice(["true", "false"], ROWS),
    }


def found_in(table: dict[str, Any], folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of a draft that are about relations, by column; rules of the table under an empty name."""
    path = folder / "t.csv"
    pc.write_csv(pa.table(table), path)
    schema = Schema.parse(draft_by_looking(str(path), "t", query=None, written=Written()).text)
    lines = {one.name: one.to_dict() for one in schema.derived}
    lines |= {column.name: {"null_when": column.null_when} for column in schema if column.null_when}
    return lines | ({"": {"constraints": [rule.text for rule in schema.constraints]}} if schema.constraints else {})


def test_columns_without_relations_have_none(tmp_path: Path) -> None:
    assert [found_in(columns(seed), tmp_path) for seed in range(5)] == [{}] * 5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("total", "net + shipping"),
        ("each", "net / pieces"),
        ("worth", "net * pieces"),
        ("square", "net * net"),
        ("tax", "0.19 * net"),
        ("born", "2023 - age"),
        ("copy", "age"),
        ("closed", "opened + pieces"),
        ("year", "year(opened)"),
        ("weekday", "weekday(opened)"),
        ("senior", "age >= 60"),
        ("parts", "age + net + shipping + pieces"),
    ],
)
def test_columns_that_can_be_computed(name: str, expected: str, tmp_path: Path) -> None:
    table = columns()
    age, net, shipping, pieces = (np.asarray(table[key]) for key in ("age", "net", "shipping", "pieces"))
    values = {
        "total": np.round(net + shipping, 2),
        "each": np.round(net / pieces, 2),
        "worth": np.round(net * pieces, 2),
        "square": np.round(net * net, 4),
        "tax": np.round(0.19 * net, 2),
        "born": 2023 - age,
        "copy": age,
        "closed": [day + datetime.timedelta(days=int(n)) for day, n in zip(table["opened"], pieces, strict=True)],
        "year": [day.year for day in table["opened"]],
        "weekday": [day.isoweekday() for day in table["opened"]],
        "senior": ["true" if one >= 60 else "false" for one in age],
        "parts": np.round(age + net + shipping + pieces, 2),
    }
    assert found_in(table | {name: values[name]}, tmp_path)[name]["computed"] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tax", "amount * percent / 100"),
        ("paid", "amount * (100 - percent) / 100"),
        ("gross", "amount * (100 + percent) / 100"),
        ("kept", "amount * (1 - rate)"),
        ("grown", "amount * (1 + rate)"),
        ("sold", "price * (100 - percent) / 100"),
    ],
)
def test_rates_of_amounts(name: str, expected: str, tmp_path: Path) -> None:
    """A tax, a discount, a commission: to the cent, also where prices are few enough to be listed."""
    draws, table = np.random.default_rng(2), columns()
    amount, percent = draws.integers(100, 90_000, ROWS) / 100, draws.choice([2.5, 7.0, 19.0], ROWS)
    rate, price = draws.choice([0.025, 0.07, 0.19], ROWS), draws.choice([9.99, 49.0, 199.99], ROWS)
    values = {
        "tax": amount * percent / 100,
        "paid": amount * (100 - percent) / 100,
        "gross": amount * (100 + percent) / 100,
        "kept": amount * (1 - rate),
        "grown": amount * (1 + rate),
        "sold": price * (100 - percent) / 100,
    }
    table = {"member": table["member"], "amount": amount, "percent": percent, "rate": rate, "price": price}
    assert found_in(table | {name: np.round(values[name], 2)}, tmp_path)[name]["computed"] == expected


def test_arithmetic_in_float32_is_seen_through(tmp_path: Path) -> None:
    """Squares and differences of numbers that were never rounded, as statistical packages store them."""
    draws = np.random.default_rng(1)
    income, spent = (draws.lognormal(size=ROWS).astype("f4") for _ in range(2))
    table = {"income": income, "spent": spent, "square": income * income, "left": income - spent}
    found = found_in(columns() | {name: cells.astype("f8") for name, cells in table.items()}, tmp_path)
    assert {name: one["computed"] for name, one in found.items()} == {
        "square": "income * income",
        "income": "spent + left",
    }


def test_the_day_of_an_instant(tmp_path: Path) -> None:
    """Instants of whole minutes, and their days."""
    table, minutes = columns(), np.random.default_rng(1).integers(0, 24 * 60, ROWS)
    start = [datetime.datetime.combine(day, datetime.time()) for day in table["opened"]]
    table["seen"] = [day + datetime.timedelta(minutes=int(n)) for day, n in zip(start, minutes, strict=True)]
    assert found_in(table, tmp_path) == {"opened": {"type": "date", "computed": "date(seen)"}}
    schema = Schema.parse(draft_by_looking(str(tmp_path / "t.csv"), "t", query=None, written=Written()).text)
    assert schema.column("seen").resolution == 60
    made = schema.derived[0].bind({"seen": schema.column("seen")}).column
    assert (made.min, made.max) == (datetime.date(2022, 1, 1), datetime.date(2024, 1, 1))


def test_a_column_that_another_determines_has_its_mapping_and_of_two_the_first_determines(tmp_path: Path) -> None:
    region = {"Aalen": "South", "Ulm": "South", "Kiel": "North", "Bonn": "West"}
    code = {"Aalen": 7, "Ulm": 12, "Kiel": 40, "Bonn": 1}
    table = columns()
    found = found_in(
        table | {"region": [region[one] for one in table["city"]], "code": [code[one] for one in table["city"]]},
        tmp_path,
    )
    assert found["region"] == {"type": "category", "determined_by": "city", "mapping": dict(sorted(region.items()))}
    assert found["code"] == {"type": "integer", "determined_by": "city", "mapping": dict(sorted(code.items()))}
    assert set(found) == {"region", "code"}


def test_a_coarser_scale_is_looked_up_and_not_multiplied(tmp_path: Path) -> None:
    """0.3 times a grade of 1, 2 or 3 is 0, 1 and 1, rounded; nobody would write that."""
    grade = np.random.default_rng(4).integers(1, 4, ROWS)
    found = found_in(columns() | {"grade": grade, "high": (grade > 1).astype(int)}, tmp_path)
    assert found == {"high": {"type": "integer", "determined_by": "grade", "mapping": {"1": 0, "2": 1, "3": 1}}}


def test_one_row_that_contradicts_is_enough(tmp_path: Path) -> None:
    table = columns()
    total = np.round(table["net"] + table["shipping"], 2)
    total[-1] += 0.01
    region = ["South" if one in ("Aalen", "Ulm") else "North" for one in table["city"]]
    region[-1] = "South" if region[-1] == "North" else "North"
    assert found_in(table | {"total": total, "region": region}, tmp_path) == {}


def test_what_few_rows_show_is_no_relation() -> None:
    """Three rows of different cities, each with a region of its own: nobody can tell."""
    listed = '[columns.{}]\ntype = "category"\nvalues = {}\n'
    schema = Schema.parse(listed.format("city", ["a", "b", "c"]) + listed.format("region", ["x", "y"]))
    few = pa.table({"city": ["a", "b", "c", "a"], "region": ["x", "y", "y", "x"]})
    assert find_relations(few.to_batches(), schema) == ()
    assert find_relations(pa.concat_tables([few] * 30).to_batches(), schema)[0].column == "region"
    assert find_relations([], schema) == ()


def test_columns_that_are_null_together_are_in_no_circle(tmp_path: Path) -> None:
    """Three results of one test, and a flag that follows from the last: each may name the next, and none the first."""
    generator, table = np.random.default_rng(5), columns()
    absent = generator.random(ROWS) < 0.3
    for name in ("first", "second", "third"):
        table[name] = pa.array(generator.integers(0, 9, ROWS), mask=absent)
    table["high"] = pa.array(
        ["yes" if cell.as_py() and cell.as_py() > 4 else "no" for cell in table["third"]], mask=absent
    )
    found = found_in(table, tmp_path)
    assert [name for name in ("first", "second", "third") if "null_when" in found.get(name, {})] == ["first", "second"]


def test_what_is_declared_is_not_proposed_again() -> None:
    """`check` of a schema that says when a column is NULL."""
    flag = np.random.default_rng(7).integers(0, 2, ROWS)
    rows = pa.table({"flag": flag, "paid": pa.array(np.arange(ROWS) % 9, mask=flag == 0)})
    text = """
        [columns.flag]
        type = "integer"
        min = 0
        max = 1

        [columns.paid]
        type = "integer"
        min = 0
        max = 8
        nullable = true
    """
    assert [one.column for one in find_relations(rows.to_batches(), Schema.parse(text))] == ["paid"]
    assert find_relations(rows.to_batches(), Schema.parse(text + 'null_when = "flag == 0"')) == ()


def test_a_list_of_values_needs_evidence_for_each(tmp_path: Path) -> None:
    """A column that hardly anybody has is NULL for most names of a long list, by chance."""
    generator, table = np.random.default_rng(6), columns()
    table["maker"] = [f"m{i}" for i in generator.integers(0, 30, ROWS)]
    table["speed"] = pa.array(generator.integers(50, 90, ROWS), mask=generator.random(ROWS) < 0.97)
    assert found_in(table, tmp_path) == {}


def test_null_where_another_column_says_so(tmp_path: Path) -> None:
    table = columns()
    member = np.asarray(table["member"]) == "true"
    fee = [int(age) if is_member else None for age, is_member in zip(table["age"], member, strict=True)]
    since = [int(n) if is_member else None for n, is_member in zip(table["pieces"], member, strict=True)]
    del table["age"], table["pieces"]
    found = found_in(table | {"fee": fee, "since": since}, tmp_path)
    assert found["fee"] == {"null_when": "member == false"}
    assert found["since"]["null_when"] in ("member == false", "fee is null")


def test_a_value_that_few_rows_of_one_kind_have_is_null_for_all_others(tmp_path: Path) -> None:
    """Newborns alone have a weight at birth; the other diagnoses are more than a rule may list."""
    generator, table = np.random.default_rng(8), columns()
    code = generator.integers(0, 30, 4 * ROWS)
    table = {name: [*cells] * 4 for name, cells in table.items()} | {"code": [f"d{i}" for i in code]}
    grams = pa.array(generator.integers(2500, 4500, 4 * ROWS), mask=code != 7)
    assert found_in(table | {"grams": grams}, tmp_path)["grams"] == {"null_when": "code != 'd7'"}
    both = pa.array(generator.integers(2500, 4500, 4 * ROWS), mask=(code != 7) & (code != 9))
    found = found_in(table | {"grams": both}, tmp_path)["grams"]["null_when"]
    assert found in ("code not in ('d7', 'd9')", "code not in ('d9', 'd7')")
    scattered = pa.array(generator.integers(2500, 4500, 4 * ROWS), mask=generator.random(4 * ROWS) < 0.99)
    assert "grams" not in found_in(table | {"grams": scattered}, tmp_path)


def test_dates_in_order_become_a_rule_without_those_that_follow_from_two(tmp_path: Path) -> None:
    table, draws = columns(), np.random.default_rng(1)
    for name, before in (("sent", "opened"), ("arrived", "sent")):
        days = draws.integers(0, 400, ROWS)
        table[name] = [day + datetime.timedelta(days=int(n)) for day, n in zip(table[before], days, strict=True)]
    assert found_in(table, tmp_path) == {"": {"constraints": ["opened <= sent", "sent <= arrived"]}}


def test_a_date_near_an_earlier_one_is_computed_from_how_far_they_are_apart(tmp_path: Path) -> None:
    """Cells of two dates over years can't show a stay of days; counted for itself it is as clear as any number."""
    table, draws = columns(), np.random.default_rng(1)
    stays = draws.integers(0, 20, ROWS)
    table["closed"] = [day + datetime.timedelta(days=int(n)) for day, n in zip(table["opened"], stays, strict=True)]
    table["closed"][7] = None  # still open
    assert found_in(table, tmp_path) == {"closed": {"type": "date", "computed": "opened + closed_minus_opened"}}
    schema = Schema.parse(draft_by_looking(str(tmp_path / "t.csv"), "t", query=None, written=Written()).text)
    gap = Integer(name="closed_minus_opened", source="closed", minus="opened", min=0, max=19, nullable=True)
    assert schema.column(gap.name) == dataclasses.replace(gap, max=schema.column(gap.name).max)
    assert schema.order[schema.order.index("closed") - 1] == gap.name


def test_instants_keep_to_their_step_and_may_come_before(tmp_path: Path) -> None:
    """A flight is due at a minute, and leaves some minutes before or after that: differences are in seconds."""
    draws = np.random.default_rng(2)
    due = [datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=int(n)) for n in draws.integers(0, 500_000, ROWS)]
    left = [
        one + datetime.timedelta(minutes=int(n)) for one, n in zip(due, draws.integers(-30, 200, ROWS), strict=True)
    ]
    pc.write_csv(pa.table({"due": due, "left": left}), tmp_path / "t.csv")
    schema = Schema.parse(draft_by_looking(str(tmp_path / "t.csv"), "t", query=None, written=Written()).text)
    gap = schema.column("left_minus_due")
    assert isinstance(gap, Integer)
    assert (gap.source, gap.minus, gap.resolution, gap.min % 60, gap.max % 60) == ("left", "due", 60, 0, 0)
    assert gap.min <= -30 * 60 < 199 * 60 <= gap.max
    (derived,) = schema.derived
    assert derived.to_dict() == {"type": "datetime", "computed": "due + left_minus_due"}


def test_a_date_that_may_stand_alone_is_left_as_it_is(tmp_path: Path) -> None:
    """Computed from an earlier one that is NULL it would be NULL, too."""
    table = columns()
    table["closed"] = [day + datetime.timedelta(days=i % 9) for i, day in enumerate(table["opened"])]
    table["opened"][3] = None
    assert found_in(table, tmp_path) == {"": {"constraints": ["opened <= closed"]}}


def test_rules_about_derived_columns_are_checked_as_their_rows_say(tmp_path: Path) -> None:
    pc.write_csv(pa.table({"a": [1, 5, 9]}), tmp_path / "t.csv")
    text = '[table]\nconstraints = ["twice <= 10"]\n[columns.a]\ntype = "integer"\nmin = 0\nmax = 9\n'
    schema = Schema.parse(f'{text}[columns.twice]\ntype = "integer"\ncomputed = "2 * a"')
    (broken,) = [one for one in check(str(tmp_path / "t.csv"), schema).findings if one.where == "constraints"]
    assert broken.words.startswith("1 of 3")


def test_check_says_what_could_be_declared(tmp_path: Path) -> None:
    """As a note: nothing is wrong. What is declared as derived already is not said again."""
    table = columns()
    table["total"] = np.round(table["net"] + table["shipping"], 2)
    path = tmp_path / "t.csv"
    pc.write_csv(pa.table(table), path)
    bound = 'type = "number"\nmin = 0\nmax = 1000\ndecimals = 2'
    declared = "".join(f"[columns.{name}]\n{bound}\n" for name in ("net", "shipping"))
    report = check(str(path), Schema.parse(f"{declared}[columns.total]\n{bound}"))
    told = [(one.level.name, one.words, one.remedy) for one in report.findings if one.where == "total"]
    assert told == [
        (
            "NOTE",
            "in all 400 rows it is computed as net + shipping",
            'computed = "net + shipping" in [columns.total], if that is public: it then costs nothing, and holds in '
            "every row",
        )
    ]
    again = check(str(path), Schema.parse(f'{declared}[columns.total]\ntype = "number"\ncomputed = "net + shipping"'))
    assert not [one for one in again.findings if "total" in one.words or one.where == "total"]


def test_every_kind_of_relation_says_what_to_write() -> None:
    rule = Relation(column="b", words="in all 9 rows, a <= b", rule="a <= b").finding()
    assert rule.remedy == 'constraints = ["a <= b"] in [table], if that is public: it then holds in every row'
    null = Relation(
        column="b", words="in all 9 rows it is NULL where a is null", lines=(("null_when", "a is null", ""),)
    )
    assert null.finding().remedy.startswith('null_when = "a is null" in [columns.b]')
    gap = Gap(of="b", minus="a", least=0, most=9, step=1, nullable=False)
    near = Relation(column="b", words="near a", lines=(("computed", gap.formula, ""),), derived=True, gap=gap).finding()
    assert near.remedy.startswith(
        "computed = 'a + b_minus_a' in [columns.b], and a new column [columns.b_minus_a] with"
    )
    lines = (("type", "category", ""), ("determined_by", "a", ""), ("mapping", {"1": "x"}, ""))
    lookup = Relation(column="b", words="determined by a", lines=lines, derived=True)
    assert lookup.finding().remedy.startswith('determined_by = "a", with its mapping in [columns.b]')


def test_a_flag_of_0_and_1_says_where_a_value_is_null(tmp_path: Path) -> None:
    table = columns()
    spent = np.random.default_rng(1).integers(0, 2, ROWS)
    table |= {"spent": spent, "cost": pa.array(table["net"], mask=spent == 0)}
    table.pop("net")
    assert found_in(table, tmp_path)["cost"] == {"null_when": "spent == 0"}
