"""The cap on rows per person: enforced, and nobody's business but that person's."""

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import ParameterError
from kernelease.exact import persons as units_module
from kernelease.exact.persons import UnitCap
from kernelease.seeds import PublicSeed
from kernelease.table import Schema
from kernelease.table.encode import Encoder
from kernelease.table.parsing import identities

SCHEMA = Schema.parse(
    """
    [table]
    unit = "who"
    max_rows_per_unit = 3
    [columns.x]
    type = "integer"
    min = 0
    max = 99
    [columns.y]
    type = "integer"
    min = 0
    max = 9
    """
)
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 99), st.integers(0, 9)), max_size=60)
Kept = Counter[tuple[int, int, int]]  # codes of x and y, weight


def _batch(rows: Iterable[tuple[object, int, int]]) -> pa.RecordBatch:
    who, x, y = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.record_batch(
        {"who": pa.array(who, pa.int64()), "x": pa.array(x, pa.int64()), "y": pa.array(y, pa.int64())}
    )


def _kept(cap: UnitCap, *batches: pa.RecordBatch) -> Kept:
    kept: Kept = Counter()
    for codes, weights in cap.apply(batches, Encoder(SCHEMA)):
        assert codes.dtype == np.int32
        assert codes.flags.f_contiguous
        assert weights.dtype == np.int64
        kept.update((int(x), int(y), int(w)) for (x, y), w in zip(codes, weights, strict=True))
    return kept


def _by_person(cap: UnitCap, rows: list[tuple[int, int, int]]) -> dict[int, Kept]:
    """Each person alone."""
    own = defaultdict(list)
    for row in rows:
        own[row[0]].append(row)
    return {who: _kept(cap, _batch(mine)) for who, mine in own.items()}


@pytest.mark.slow
@settings(deadline=None)
@given(ROWS, st.integers(1, 16))
def test_what_a_person_adds_depends_on_that_person_alone(rows: list[tuple[int, int, int]], most: int) -> None:
    cap = UnitCap(column="who", max_rows=most)
    alone = _by_person(cap, rows)
    assert _kept(cap, _batch(rows)) == sum(alone.values(), Counter())
    for who, kept in alone.items():
        mine = [row for row in rows if row[0] == who]
        assert kept.total() == min(len(mine), most)
        assert sum(weight * n for (_, _, weight), n in kept.items()) == cap.total
        contents = Counter((x, y) for _, x, y in mine)
        assert all(contents[x, y] >= n for (x, y, _), n in kept.items())


@settings(deadline=None)
@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 20))
def test_order_and_batches_do_not_matter(rows: list[tuple[int, int, int]], random: object, size: int) -> None:
    cap = UnitCap.of(SCHEMA)
    shuffled = list(rows)
    random.shuffle(shuffled)
    batches = [_batch(shuffled[i : i + size]) for i in range(0, len(shuffled), size)]
    assert _kept(cap, *batches) == _kept(cap, _batch(rows))


def test_cutting_early_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    rows = [tuple(row) for row in generator.integers(0, [7, 100, 10], (500, 3)).tolist()]
    whole = _kept(UnitCap.of(SCHEMA), _batch(rows))
    monkeypatch.setattr(units_module, "_BLOCK", 2)
    assert _kept(UnitCap.of(SCHEMA), *(_batch(rows[i : i + 9]) for i in range(0, 500, 9))) == whole
    assert whole.total() == 21


def test_rows_with_one_hash_are_taken_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units_module, "_digest", lambda hasher, row: b"\0" * 8)
    rows = [(1, x, y) for x in (5, 3, 4, 3) for y in (7, 2)]
    kept = _kept(UnitCap(column="who", max_rows=3), _batch(rows), _batch([(2, 9, 9)]))
    assert kept == Counter({(3, 2, 2): 2, (3, 7, 2): 1, (9, 9, 6): 1})


def test_removing_a_person_leaves_the_others() -> None:
    generator = np.random.default_rng(1)
    rows = [tuple(row) for row in generator.integers(0, [9, 100, 10], (300, 3)).tolist()]
    cap = UnitCap.of(SCHEMA)
    gone = _kept(cap, _batch([row for row in rows if row[0] == 4]))
    assert _kept(cap, _batch(rows)) - gone == _kept(cap, _batch([row for row in rows if row[0] != 4]))


def test_the_seed_chooses_the_rows() -> None:
    rows = [(1, x, 0) for x in range(100)]
    first = _kept(UnitCap(column="who", max_rows=3), _batch(rows))
    assert first == _kept(UnitCap(column="who", max_rows=3, seed=PublicSeed(0)), _batch(rows))
    assert first != _kept(UnitCap(column="who", max_rows=3, seed=PublicSeed(1)), _batch(rows))


def test_weights_are_whole_for_every_cap() -> None:
    for most in range(1, 17):
        total = UnitCap(column="who", max_rows=most).total
        assert all(total % rows == 0 for rows in range(1, most + 1))
    assert total == 720_720


def _weights(identifiers: pa.Array, without: str = "drop") -> list[int]:
    cap = UnitCap(column="who", max_rows=2, rows_without_unit=without)
    n = len(identifiers)
    batch = pa.record_batch({"who": identifiers, "x": pa.array(range(n)), "y": pa.array([0] * n)})
    weights = {
        int(codes[0]): int(w)
        for block, ws in cap.apply([batch], Encoder(SCHEMA))
        for codes, w in zip(block, ws, strict=True)
    }
    return [weights.get(i, 0) for i in range(n)]


@pytest.mark.parametrize(
    "identifiers",
    [
        pa.array(["a", "b", "a", None, ""]),
        pa.array(["a", "b", "a", None, ""], pa.large_string()),
        pa.array(["a", "b", "a", None, ""], pa.string_view()),
        pa.array(["a", "b", "a", None, ""]).dictionary_encode(),
        pa.DictionaryArray.from_arrays([0, 1, 0, None, 2], pa.array(["a", "b", None])),
        pa.array([b"\xff", b"\xfe", b"\xff", None, b""]),
        pa.array([7, 8, 7, None, None]),
        pa.array([7.0, 8.5, 7.0, None, math.nan]),
        pa.array(np.array([7.0, 8.0, 7.0, math.nan, math.nan], dtype=np.float16)),
        pa.array([math.inf, -math.inf, math.inf, None, math.nan]),
        pa.array([Decimal("1.50"), Decimal("2"), Decimal("1.50"), None, None]),
        pa.array([True, False, True, None, None]),
        pa.array([datetime.date(2024, 1, 1), datetime.date(1, 1, 1), datetime.date(2024, 1, 1), None, None]),
        pa.RunEndEncodedArray.from_arrays([1, 2, 3, 5], pa.array(["a", "b", "a", None])),
        pa.ExtensionArray.from_storage(
            pa.opaque(pa.string(), "id", "test") if hasattr(pa, "opaque") else pa.string(),
            pa.array(["a", "b", "a", None, ""]),
        )
        if hasattr(pa, "opaque")
        else pa.array(["a", "b", "a", None, ""]),
    ],
    ids=lambda array: str(array.type)[:30],
)
def test_identifiers_of_every_type(identifiers: pa.Array) -> None:
    assert _weights(identifiers) == [1, 2, 1, 0, 0]
    assert _weights(identifiers, "one-unit") == [1, 2, 1, 1, 1]


def test_what_is_no_identifier_is_nobody() -> None:
    assert _weights(pa.array([[1], [1], None])) == [0, 0, 0]
    assert _weights(pa.nulls(2), "one-unit") == [1, 1]
    assert _weights(pa.array([], pa.string())) == []


def test_one_person_in_two_types_is_one_person() -> None:
    cap = UnitCap(column="who", max_rows=2)
    batches = [
        pa.record_batch({"who": who, "x": pa.array([1]), "y": pa.array([1])})
        for who in (pa.array([7]), pa.array([7.0]), pa.array(["7"]), pa.array([Decimal("7.00")]))
    ]
    assert _kept(cap, *batches) == Counter({(1, 1, 1): 2})
    assert _kept(cap) == Counter()


def test_a_fraction_is_one_person_whatever_digits_its_type_declares() -> None:
    one = [pa.array([7.5]), pa.array(["7.5"]), pa.array([Decimal("7.5")]), pa.array([Decimal("7.5000")])]
    assert {tuple(identities(array)[1]) for array in one} == {(b"7.5", None)}
    long = Decimal("1.0000000000000000000000000000000000001")
    assert identities(pa.array([long]))[1][0] == str(long).encode()


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_instants_of_one_second_are_several_persons(unit: str) -> None:
    instants = pa.array([1_000, 1_001, 1_000, None, None], pa.timestamp(unit))
    assert _weights(instants) == [1, 2, 1, 0, 0]


@pytest.mark.parametrize("microsecond", [0, 456, 120_000])
def test_an_instant_is_one_person_in_a_frame_of_objects_and_of_instants(microsecond: int) -> None:
    """What else a frame's column holds decides its dtype: it must not decide how others are called."""
    instant = datetime.datetime(2020, 1, 1, 1, 2, 3, microsecond)
    for unit in ("us", "ns"):
        (key, _) = identities(pa.array([instant], pa.timestamp(unit)))[1]
        assert key == instant.isoformat().encode()


def test_parameters() -> None:
    for most in (0, 17):
        with pytest.raises(ParameterError, match="max_rows must be from 1 to 16"):
            UnitCap(column="who", max_rows=most)
    with pytest.raises(ParameterError, match="rows_without_unit must be drop or one-unit, got 'keep'"):
        UnitCap(column="who", max_rows=1, rows_without_unit="keep")
    with pytest.raises(ParameterError, match="declares no unit"):
        UnitCap.of(Schema.parse("[columns.a]\ntype = 'boolean'"))
