"""Columns of every type and cells of every kind, for the tests of encoding by SQL."""

import datetime
import math
from decimal import Context, Decimal

import numpy as np

from kernelease.table import Boolean, Category, Column, Date, Datetime, Hierarchy, Integer, Number, Ordinal, String

MOMENT = datetime.datetime
EAST = datetime.timezone(datetime.timedelta(hours=14))

ODD_NAMES = (
    *("a", "b'c", "d\\e", "é", "日本", "e\u0301", 'q"u', "x'); DROP TABLE cells; --", "\\x41", "$$", "%s", "{}", "A"),
    *(
        "NULL",
        "NaN",
        " a",
        "a ",
        "7",
        "7.0",
        "1e3",
        "inf",
        "True",
        "tab\there",
        "line\nhere",
        "\N{SNOWMAN}\N{MAHJONG TILE EAST WIND}",
    ),
)
NUMBERS: list[Column] = [
    Integer(name="age", min=17, max=90, nullable=True),
    Integer(name="wide", min=-(2**53), max=2**53, cells=100, default=7),
    Integer(name="fives", min=-10, max=100, resolution=5, cells=9),
    Integer(name="gain", min=0, max=99_999),
    Integer(name="thrice", min=-4, max=40, resolution=3, cells=3),
    Integer(name="some", min=-7, max=90, values=(-7, 0, 1, 50, 90), nullable=True),
    Number(name="real", min=-3.0, max=3.0, nullable=True),
    Number(name="tenths", min=0.0, max=2.5, resolution=0.1, default=1.0),
    Number(name="cents", min=0.0, max=100.0, resolution=0.01, cells=12, nullable=True),
    Number(name="thirds", min=-1.0 / 3.0, max=2.0 / 3.0, cells=7),
    Number(name="huge", min=-1e150, max=1e150, cells=5, nullable=True),
    Number(name="tiny", min=0.0, max=1e-310, cells=4),
    Number(name="one", min=0.0, max=1.0, cells=1),
    Number(name="listed", min=-1.5, max=2.25, values=(-1.5, -0.1, 0.0, 1.1, 2.25), nullable=True),
    Integer(name="decades", min=0, max=10**9, scale="log", nullable=True),
    Integer(name="few decades", min=5, max=10**5, resolution=5, scale="log", cells=9),
    Number(name="dollars", min=0.5, max=1e9, scale="log", nullable=True),
    Number(name="cents in decades", min=0.0, max=1e6, decimals=2, scale="log", cells=30),
]
LISTS: list[Column] = [
    Category(name="odd", values=ODD_NAMES, other=True, nullable=True),
    Category(name="many", values=(*ODD_NAMES, *(str(i) for i in range(100, 160))), other=True),
    Category(name="empty", values=("", "a"), nullable=True),
    Category(name="digits", values=tuple(range(9)), nullable=True),
    Category(name="gaps", values=(5, 6, 7, -3, 100, 0), other=-1),
    Category(name="large", values=("9007199254740993", "9007199254740992", "1.5", "-0"), other=True),
    Ordinal(name="flags", values=("false", "true"), nullable=True),
    String(name="free", max_length=10, nullable=True),
    String(name="drug", values=("a", "aspirin")),
    Hierarchy(name="grouped", values=ODD_NAMES, prefix=1, nullable=True),
    Hierarchy(name="grouped numbers", values=(0, 1, 2, 7), groups=("a", "b", "a", "c"), other=-1),
]
FLAGS: list[Column] = [Boolean(name="insured", nullable=True), Boolean(name="member", default=True)]
TIMES: list[Column] = [
    Date(name="born", min=datetime.date(1930, 1, 1), max=datetime.date(2024, 12, 31), nullable=True),
    Date(name="spring", min=datetime.date(1969, 12, 1), max=datetime.date(1970, 3, 1), resolution=7),
    Datetime(name="seen", min=MOMENT(1969, 12, 31, 23), max=MOMENT(1970, 1, 3), resolution=3600, nullable=True),
    Datetime(name="fine", min=MOMENT(1969, 12, 31), max=MOMENT(1970, 1, 2), resolution=0.000001, cells=1000),
    Datetime(name="zoned", min=MOMENT(1900, 1, 1, tzinfo=EAST), max=MOMENT(2100, 1, 1, tzinfo=EAST)),
    Datetime(name="years", min=MOMENT(1, 1, 1, 12), max=MOMENT(9999, 12, 31, 23)),
]
COLUMNS = NUMBERS + LISTS + FLAGS + TIMES


def _around(number: float) -> list[float]:
    return [math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf)]


def numbers() -> list[float]:
    """Finite numbers: both neighbours of every edge of every column of numbers, and whatever else is special."""
    edges = [edge for column in NUMBERS for edge in column.edges().tolist()]
    special = [0.0, 1.0, 2.0, 5.0, 1.5, 7.0, 1000.0, 5e-324, 2.0**-1022, 2.0**53, 2.0**63, 2.0**64, 1e150, 1e300]
    special += [math.nextafter(math.inf, 0.0), 0.5, 0.1 + 0.2, 1 / 3]
    found = [near for value in [*edges, *special, *(-value for value in special)] for near in _around(value)]
    return sorted({value for value in found if math.isfinite(value)} | {-0.0}, key=lambda x: (x, math.copysign(1, x)))


NUMBER_TEXTS = [
    *(repr(number) for number in numbers()),
    *(str(i) for i in range(-12, 105)),
    *(str(sign * 2**power + i) for sign in (1, -1) for power in (53, 62, 63, 64, 100) for i in (-1, 0, 1)),
    *("41.99999999999999999999999", "17.00000000000000000000000000001", "1e-400", "-1e-400", "0.3", "12345.678"),
    *("1" * 38, "-" + "9" * 38, "0.1234567890123456789", "9007199254740993.0", "2.5", "-0.5"),
]
ODD_TEXTS = [
    *ODD_NAMES,
    *("", " ", " 7 ", "\t7\n", "+7", "7.", ".5", "+.5e+1", "1_000", "1,000", "0x10", "1e", "--1", "nan", "NaN"),
    *("inf", "-Infinity", " +INF ", "infinit", "1e999", "-1e999", "1e-999", "1" * 400, "0." + "0" * 400 + "1"),
    *(
        "true",
        "TRUE",
        " t ",
        "False",
        "f",
        "yes",
        "No",
        "n",
        "y",
        "Y ",
        "truee",
        "ja",
        "０",
        "1\u00a0",
        "\u0661",
        "ye\u017f",
        "fal\u017fe",
        "\u0131nf",
        "\u0130nf",
        "\u212a",
    ),
    *("2020-01-01", "1970-01-01T00:00:00Z", "not a date", "\ufeff7", "7\x0b", "a\u0000b"),
]
DAYS = ["0001-01-01", "1929-12-31", "1930-01-01", "1969-12-31", "1970-01-01", "1970-01-02", "2024-12-31", "2025-01-01"]
DAYS += ["1969-12-07", "1969-12-08", "1970-03-01", "1970-03-02", "9999-12-31"]
TIME_OF_DAY = ["00:00:00", "00:00:00.000001", "12:00:00", "22:59:59.999999", "23:00:00", "23:59:59.999999"]
MOMENTS = [f"{day} {time}" for day in DAYS for time in TIME_OF_DAY]
FAR_DAYS = ["infinity", "-infinity"]
HALVES = [format(Context(prec=1200).power(Decimal(2), -1075) * factor, "f") for factor in (1, -1)]
HALVES += [
    half + digit for half in HALVES for digit in "01"
]  # the largest numbers that are rounded to 0; and past them
assert len(np.unique(NUMBER_TEXTS)) > 500
