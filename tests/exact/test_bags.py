"""Persons with records, in integers: what one of them can change, whatever they have, at every depth."""

import dataclasses
import itertools
from fractions import Fraction
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from kernelease.exact import paths as bags
from kernelease.exact.counting import count_blocks
from kernelease.exact.persons import Keys
from kernelease.ledgers import MemoryLedger
from kernelease.measured.counts import Counts
from kernelease.noises import SeededNoise
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.privacy.sensitivity import ROWS, Neighbours
from kernelease.relational.schema_of_tables import WEIGHT, Tables
from kernelease.seeds import PublicSeed
from kernelease.sources import private_rows
from kernelease.sources.private_rows import private_tables

CAP = 3
AGGREGATE = """[tables.homes.columns.men]
aggregate = "count(people, sex = 'm')"
max = 2
"""
SCHEMA = """
[unit]
table = "homes"
neighbours = "{neighbours}"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b"]
{aggregate}[tables.people]
key = "person"
parent = "homes"
foreign_key = "home"
max_rows = {cap}
[tables.people.columns.sex]
type = "category"
values = ["f", "m"]
[tables.visits]
parent = "people"
foreign_key = "person"
max_rows = {cap}
order = "day"
[tables.visits.columns.day]
type = "integer"
min = 0
max = 99
cells = 4
[tables.visits.columns.ill]
type = "boolean"
[tables.cars]
parent = "homes"
foreign_key = "home"
max_rows = {cap}
[tables.cars.columns.old]
type = "boolean"
"""


def declared(neighbours="replace-one", cap=CAP, aggregate=AGGREGATE) -> Tables:
    return Tables.parse(SCHEMA.format(neighbours=neighbours, cap=cap, aggregate=aggregate))


def home(key: int, town: str, people: int, visits: int, cars: int, *, salt: int = 0):
    """A home with so many records, whose cells vary."""
    persons = [{"home": key, "person": 1000 * key + i, "sex": "fm"[(i + salt) % 2]} for i in range(people)]
    went = [
        {"person": one["person"], "day": (7 * j + i) % 100, "ill": (i + j + salt) % 3 == 0}
        for i, one in enumerate(persons)
        for j in range(visits)
    ]
    owned = [{"home": key, "old": (i + salt) % 2 == 0} for i in range(cars)]
    return [{"home": key, "town": town}], persons, went, owned


def together(*homes):
    names, parts = ("homes", "people", "visits", "cars"), zip(*homes, strict=True)
    kinds = {
        "homes": pa.schema([("home", pa.int64()), ("town", pa.string())]),
        "people": pa.schema([("home", pa.int64()), ("person", pa.int64()), ("sex", pa.string())]),
        "visits": pa.schema([("person", pa.int64()), ("day", pa.int64()), ("ill", pa.bool_())]),
        "cars": pa.schema([("home", pa.int64()), ("old", pa.bool_())]),
    }
    return {
        name: pa.Table.from_pylist(list(itertools.chain.from_iterable(part)), schema=kinds[name])
        for name, part in zip(names, parts, strict=True)
    }


def blocks_of(tables: Tables):
    """Every column alone, and every pair of columns, siblings included, in atoms."""
    sizes = tables.counted_sizes
    sets = [(i,) for i in range(len(sizes))] + list(itertools.combinations(range(len(sizes)), 2))
    return [Counts(columns=one, groups=tuple(np.arange(sizes[i]) for i in one), share=0.0) for one in sets]


def exact(data, tables: Tables):
    rows = private_tables(data, tables, seed=PublicSeed(0))
    blocks = blocks_of(tables)
    return [table.astype(object) for table in rows.counts()._counter(blocks)]


EXTREMES = [
    home(9, "b", people, visits, cars, salt=salt)
    for people, visits, cars, salt in (
        *((0, 0, 0, 0), (1, 0, 0, 1), (1, 1, 1, 0), (CAP, CAP, CAP, 1), (2, CAP, 1, 1)),
        *((10 * CAP, 0, 10 * CAP, 0), (10 * CAP, 10 * CAP, 10 * CAP, 1), (CAP, 10 * CAP, 0, 0)),
    )
]
OTHERS = [home(1, "a", 2, 1, 0), home(2, "b", 0, 0, 2), home(3, "a", 5, 4, 4, salt=1)]


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("one", EXTREMES)
def test_a_person_adds_exactly_its_weight_to_every_block(one, place) -> None:
    tables = declared("add-remove")
    homes = [*OTHERS[:place], one, *OTHERS[place:]]
    for with_one, without in zip(exact(together(*homes), tables), exact(together(*OTHERS), tables), strict=True):
        difference = with_one - without
        assert difference.min() >= 0
        assert difference.sum() == WEIGHT


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(EXTREMES, 2)))
def test_replacing_a_person_moves_no_block_by_more_than_is_charged(one, other) -> None:
    tables = declared()
    first, second = exact(together(*OTHERS, one), tables), exact(together(*OTHERS, other), tables)
    for block, here, there in zip(blocks_of(tables), first, second, strict=True):
        charged = block.sensitivity(Neighbours.REPLACE_ONE, WEIGHT)
        difference = here - there
        assert np.abs(difference).sum() <= charged.l1
        assert (difference**2).sum() <= charged.l2**2 * (1 + 1e-12)


def _moved(data, other, tables) -> int:
    return max(int(np.abs(a - b).sum()) for a, b in zip(exact(data, tables), exact(other, tables), strict=True))


def _uncapped(self, place, above, _hang=bags.Bags._hang):
    """A twin: the cap is not applied, and every record weighs as one of `max_rows`."""
    most, shapes = self._shapes[place].max_rows, self._shapes
    self._shapes = tuple(bags.Shape(parent=shape.parent, max_rows=10**6) for shape in shapes)
    nodes = _hang(self, place, above)
    self._shapes = shapes
    ticks = WEIGHT // most
    start = np.arange(len(nodes.row)) * ticks
    return dataclasses.replace(nodes, start=start, end=start + ticks)


def _undivided(self, columns, paths=bags.Bags.paths):
    """A twin: a weight is not divided among records."""
    for codes, _ in paths(self, columns):
        yield codes, np.full(len(codes[0]), WEIGHT)


def _twice(self, columns, paths=bags.Bags.paths):
    """A twin: a record beside its sibling counts both ways round, for a whole weight each."""
    for codes, weights in paths(self, columns):
        yield codes, weights
        yield codes, weights


def _padded(self, column, _column=private_rows._Persons._column):
    """Codes for more records than are kept, which a twin without a cap has."""
    found = _column(self, column)
    if found.number:
        found.codes = np.append(found.codes, np.full(100 * CAP, found.codes[-1]))
    return found


@pytest.mark.parametrize("broken", [("_hang", _uncapped), ("paths", _undivided), ("paths", _twice)])
def test_twins_are_caught(broken) -> None:
    tables = declared("add-remove", aggregate="")
    heavy = EXTREMES[6]
    data, other = together(*OTHERS, heavy), together(*OTHERS)
    assert _moved(data, other, tables) == WEIGHT
    with mock.patch.object(bags.Bags, *broken), mock.patch.object(private_rows._Persons, "_column", _padded):
        assert _moved(data, other, tables) > WEIGHT


def test_the_order_of_rows_changes_nothing() -> None:
    tables, data = declared(), together(*OTHERS, EXTREMES[6])
    turned = {name: table.take(pa.array(np.arange(table.num_rows)[::-1])) for name, table in data.items()}
    for one, other in zip(exact(data, tables), exact(turned, tables), strict=True):
        assert (one == other).all()


def test_keys_that_are_missing_twice_or_nobodys() -> None:
    tables, data = declared("add-remove"), together(*OTHERS)
    odd = {
        "homes": pa.table({"home": ["1", None, "", "2", "2"], "town": ["a", "b", "b", "b", "a"]}),
        "people": pa.table({"home": [1.0, 1.0, None, 77.0], "person": [5, 5, 6, 7], "sex": ["f", "m", "f", "m"]}),
        "visits": pa.table({"person": [5, 5, 8, None], "day": [3, None, 1, 2], "ill": [True, False, True, True]}),
        "cars": pa.table({"home": pa.array([], pa.int64()), "old": pa.array([], pa.bool_())}),
    }
    total = [int(table.sum()) for table in exact(odd, tables)]
    assert set(total) == {2 * WEIGHT}  # two persons: 1 and 2
    assert {int(table.sum()) for table in exact(data, tables)} == {3 * WEIGHT}


def test_another_persons_records_change_nothing_of_ones_own() -> None:
    """Two persons' rows with one key are records of both: who adds such a row changes nothing of the other's."""
    tables = declared("add-remove")
    mine = home(1, "a", 2, 2, 0)
    thief = ([{"home": 2, "town": "b"}], [{"home": 2, "person": 1000, "sex": "f"}], [], [])
    for both, alone in zip(exact(together(mine, thief), tables), exact(together(mine), tables), strict=True):
        assert (both - alone).min() >= 0
        assert (both - alone).sum() == WEIGHT


def test_an_empty_table_is_no_path() -> None:
    tables = declared("add-remove")
    assert all(not table.any() for table in exact(together(([], [], [], [])), tables))


@pytest.mark.parametrize("cap", [5, 50, 500])
def test_noise_is_the_same_at_every_depth_and_cap(cap) -> None:
    """A block of the root, of records and of their records: the same noise, in persons, for the same share."""
    tables = declared(cap=cap)
    privacy = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.REPLACE_ONE)
    counts = private_tables(together(*OTHERS, EXTREMES[6]), tables, seed=PublicSeed(0)).counts()
    budget = PrivacyFilter.open(privacy, ledger=MemoryLedger(privacy), subject=ROWS, coordinates=1000, purpose="test")
    places = [tables.flat.names.index(name) for name in ("homes.town", "people.sex", "visits.ill")]
    sizes = tables.counted_sizes
    sets = [(place,) for place in places] + [(places[1], len(tables.flat))]
    blocks = [Counts(columns=one, groups=tuple(np.arange(sizes[i]) for i in one), share=0.01) for one in sets]
    noisy = counts.privatise(blocks, budget, noise=SeededNoise(0))
    (sigma,) = {one.sigma for one in noisy}
    expected = Counts(columns=(0,), groups=(np.arange(2),), share=0.01).sensitivity(Neighbours.REPLACE_ONE, 1).l2
    assert sigma == pytest.approx(expected / np.sqrt(0.01 * budget.total.mu_squared), rel=1e-6)


def test_an_aggregate_counts_the_kept_records_that_meet_its_condition() -> None:
    """Of 3 kept people of 10, by a condition, up to its own most; a home without people has none."""
    tables = declared("add-remove")
    homes = [home(1, "a", 0, 0, 0), home(2, "a", 1, 0, 0), home(3, "b", 2, 1, 0), home(4, "b", 10 * CAP, 0, 0)]
    data = together(*homes)
    everyone = private_tables(data, tables, seed=PublicSeed(0)).counts()
    place = tables.flat.names.index("homes.men")
    (counts,) = everyone._counter([blocks_of(tables)[place]])
    by_key = [sum(row["sex"] == "m" for row in one[1]) for one in homes[:3]]
    assert by_key == [0, 0, 1]
    assert counts.sum() == 4 * WEIGHT
    assert counts[0] >= 2 * WEIGHT  # homes 1 and 2
    assert counts[1:].sum() >= WEIGHT  # home 3, and home 4 by which of its people are kept


def _steps_by_hand(visits: dict[int, list[tuple[int, bool]]], cap: int) -> dict[tuple[str, str], Fraction]:
    """Σ over persons with one visitor each of 1/k for each step, from the first `cap` visits by day."""
    found: dict[tuple[str, str], Fraction] = {}
    for own in visits.values():
        states = [str(ill) for _, ill in sorted(own)[:cap]]
        for now, then in zip(states, [*states[1:], "end"], strict=True):
            found[now, then] = found.get((now, then), Fraction(0)) + Fraction(1, len(states))
    return found


def test_steps_are_those_of_the_first_records_by_their_order() -> None:
    """Days lie closer than cells: their values decide which records are kept, and which follows which."""
    visits = {1: [(5, True), (2, False), (1, True)], 2: [(9, False)], 3: [(8, True), (7, False), (6, True), (99, True)]}
    data = together(*(home(key, "a", 1, 0, 0) for key in visits))
    rows = [{"person": 1000 * key, "day": day, "ill": ill} for key, own in visits.items() for day, ill in own]
    data["visits"] = pa.Table.from_pylist(rows)
    tables = declared("add-remove")
    ill = tables.flat.names.index("visits.ill")
    rows_of = private_tables(data, tables, seed=PublicSeed(0)).counts()
    sizes = tables.counted_sizes

    def counted(*columns: int):
        (table,) = rows_of._counter(
            [Counts(columns=columns, groups=tuple(np.arange(sizes[i]) for i in columns), share=0)]
        )
        return table

    steps, codes = counted(ill, tables.place_beside(ill, "next")), {"False": 0, "True": 1, "end": 3}
    for (now, then), weight in _steps_by_hand(visits, CAP).items():
        assert steps[codes[now], codes[then]] == weight * WEIGHT
    assert steps.sum() == len(visits) * WEIGHT
    assert counted(tables.place_beside(ill, "first")).tolist() == [WEIGHT, 2 * WEIGHT, 0, 0]
    assert counted(tables.place_beside(ill, "last")).tolist() == [WEIGHT, 2 * WEIGHT, 0, 0]


def test_count_blocks_reads_paths_as_they_are() -> None:
    tables = declared()
    rows = private_tables(together(*OTHERS), tables, seed=PublicSeed(0))
    (towns,) = count_blocks(rows._encoded, blocks_of(tables)[:1], tables.counted_sizes)
    assert (towns == np.array([2, 1]) * WEIGHT).all()


def numbered(*arrays: tuple[pa.Array, bool]) -> list[list[int]]:
    """The numbers of keys in some arrays, one after the other."""
    keys = Keys()
    return [keys.number(array, new=new).tolist() for array, new in arrays]


def test_whole_keys_are_the_keys_that_they_are_as_text() -> None:
    """Whole numbers are looked up without being spelt; what comes after them, as text or a number, finds the same."""
    most = 2**63 - 1
    first, second = pa.array([5, None, -3, 0, 5, most]), pa.array([0, 7, -3])
    later = [pa.array(["7", "05", "", "0"]), pa.array([-3.0, 0.5, float("nan"), 5.0]), pa.array([most, 1, None])]
    text = [pa.array([None if one is None else str(one) for one in array.to_pylist()]) for array in (first, second)]
    whole = numbered((first, True), (second, True), *((array, False) for array in (first, second, *later)))
    spelt = numbered((text[0], True), (text[1], True), *((array, False) for array in (*text, *later)))
    for one, other in zip(whole, spelt, strict=True):
        assert [number < 0 for number in one] == [number < 0 for number in other]
    own = {}
    for numbers, keys in zip(whole[:2], (first, second), strict=True):
        for number, key in zip(numbers, keys.to_pylist(), strict=True):
            assert (number == bags.NOBODY) == (key is None)
            assert key is None or own.setdefault(key, number) == number
    assert sorted(own.values()) == list(range(5))
    assert whole[4] == [own[7], -1, -1, own[0]]
    assert whole[5] == [own[-3], -1, -1, own[5]]
    assert whole[6] == [own[most], -1, -1]
    assert numbered((pa.array([], pa.int64()), True), (pa.array([0, 1]), False))[1] == [-1, -1]
    assert numbered((pa.array([2**64 - 1], pa.uint64()), True), (pa.array([str(2**64 - 1)]), False)) == [[0], [0]]


def test_records_rank_as_by_all_of_their_keys() -> None:
    """By the parent, then by the whole hash, then by content: also where halves of hashes are tied."""
    rng = np.random.default_rng(0)
    parent = rng.integers(-1, 40, 3000).astype(np.int32)
    codes = [rng.integers(0, 50, 3000).astype(np.uint8), rng.integers(0, 9, 3000).astype(np.uint16)]
    records = bags.Records(codes, parent)
    for hashes in (None, rng.integers(0, 3, 3000).astype(np.uint64), np.zeros(3000, dtype=np.uint64)):
        given = records._hashes(slice(0, 3000), PublicSeed(1)) if hashes is None else hashes
        with mock.patch.object(bags.Records, "_hashes", lambda _, part, seed, given=given: given[part].copy()):
            found = records.ranks(PublicSeed(1))
        assert (found == np.lexsort((*codes[::-1], given, parent))).all()
