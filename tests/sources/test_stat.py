"""Files of SPSS, Stata and SAS: dates by their formats, texts by encodings, labels and missing values as declared."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given, strategies as st

from kernelease.drafting.drafts import code_book
from kernelease.errors import SourceError
from kernelease.sources import open_source
from kernelease.sources.stat import Clock, Variable, _encoding, clock_of

DAY = datetime.date(2024, 2, 29)
SPSS_DAY, SAS_DAY = (DAY - datetime.date(1582, 10, 14)).days * 86_400, (DAY - datetime.date(1960, 1, 1)).days


def cells(path: Path, name: str) -> list[Any]:
    return [cell for batch in open_source(path, batch_rows=2).batches([name]) for cell in batch.column(0).to_pylist()]


@pytest.mark.parametrize(
    ("software", "form", "number", "value"),
    [
        ("SPSS", "DATE11", SPSS_DAY, DAY),
        ("SPSS", "SDATE10", SPSS_DAY + 60, DAY),
        ("SPSS", "MOYR8", SPSS_DAY, DAY),
        ("SPSS", "DATETIME22.2", SPSS_DAY + 61.25, datetime.datetime(2024, 2, 29, 0, 1, 1, 250_000)),
        ("SAS", "YYMMDD10.", SAS_DAY, DAY),
        ("SAS", "date9", SAS_DAY + 0.75, DAY),
        ("SAS", "E8601DT19.", SAS_DAY * 86_400 + 5, datetime.datetime(2024, 2, 29, 0, 0, 5)),
        ("Stata", "%td", SAS_DAY, DAY),
        ("Stata", "%dD_m_Y", SAS_DAY, DAY),
        ("Stata", "%-tdD/N/Y", SAS_DAY, DAY),
        ("Stata", "%tcHH:MM", SAS_DAY * 86_400_000 + 7, datetime.datetime(2024, 2, 29, 0, 0, 0, 7000)),
    ],
)
def test_formats_make_dates_of_numbers(software: str, form: str, number: float, value: datetime.date) -> None:
    clock = clock_of(software, form)
    assert clock is not None
    assert clock.read(np.array([number, np.nan])).to_pylist() == [value, None]


@pytest.mark.parametrize(
    ("software", "form"),
    [
        *(("SPSS", form) for form in ("F8.2", "A8", "TIME8", "DTIME12", "WKDAY3", "MONTH3", "N5", "DOLLAR8.2", "")),
        *(("SAS", form) for form in ("BEST12.", "TIME8.", "HHMM5.", "DOLLAR8.2", "$CHAR8.", "DATES", "")),
        *(("Stata", form) for form in ("%9.0g", "%tm", "%tq", "%tw", "%th", "%ty", "%tC", "%12.2f", "%-9s", "")),
    ],
)
def test_other_numbers_stay_numbers(software: str, form: str) -> None:
    assert clock_of(software, form) is None


@given(
    number=st.floats(width=64),
    software_form=st.sampled_from([("SPSS", "DATE11"), ("SPSS", "DATETIME20"), ("SAS", "DATE9."), ("Stata", "%tc")]),
)
def test_no_number_is_too_far_to_be_read(number: float, software_form: tuple[str, str]) -> None:
    clock = clock_of(*software_form)
    assert clock is not None
    (found,) = clock.read(np.array([number])).to_pylist()  # Python has the years 1 to 9999 and raises beyond
    assert (found is None) is bool(np.isnan(number))


def test_old_files_of_stata_are_in_windows_encoding(tmp_path: Path) -> None:
    table = pd.DataFrame({"city": ["Kxln"]})
    pyreadstat.write_dta(table, tmp_path / "old.dta", version=12)
    content = (tmp_path / "old.dta").read_bytes()
    (tmp_path / "old.dta").write_bytes(content.replace(b"Kxln", b"K\xf6ln"))
    assert cells(tmp_path / "old.dta", "city") == ["Köln"]
    pyreadstat.write_dta(pd.DataFrame({"stadt_ö": ["Köln"]}), tmp_path / "new.dta", version=15)
    assert cells(tmp_path / "new.dta", "stadt_ö") == ["Köln"]


def test_an_encoding_that_is_not_known_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"in an encoding that is not known\. Save it in UTF-8"):
        _encoding(tmp_path / "t.sav", "SPSS", "EBCDIC-XX")


def test_integers_of_stata_and_its_missing_values(tmp_path: Path) -> None:
    table = pd.DataFrame({"age": pd.array([34, 51], dtype="int16"), "kind": [1, "a"]})
    pyreadstat.write_dta(
        table,
        tmp_path / "t.dta",
        variable_value_labels={"kind": {1: "first\nkind", "a": "refused"}},
        missing_user_values={"kind": ["a"]},
    )
    source = open_source(tmp_path / "t.dta")
    declared = source.declared_schema()
    assert declared is not None
    assert declared.field("age").type == pa.int64()
    assert cells(tmp_path / "t.dta", "age") == [34.0, 51.0]
    assert cells(tmp_path / "t.dta", "kind") == [1.0, None]
    assert ("values", [1], "1 = first kind") in code_book(tmp_path / "t.dta")["kind"].lines()


def variable(**changed: Any) -> Variable:
    given: dict[str, Any] = {
        **{"name": "pain", "raw": "pain", "type": pa.float64(), "clock": None, "measure": "unknown"},
        **{"labels": {1.0: "none", 2.0: "some"}, "missing": ()},
    }
    return Variable(**given | changed)


def test_what_labels_say_depends_on_the_measure() -> None:
    assert variable().describe().type == "category"
    assert variable(measure="ordinal").describe().type == "ordinal"
    assert variable(measure="ordinal").describe().values == (1, 2)
    assert variable(measure="scale").describe().values == ()
    assert variable(measure="scale").describe().type == "number"
    assert variable(labels={0.5: "half", 1.0: "one"}).describe().values == ("0.5", "1")
    assert variable(type=pa.string(), labels={"f": "female"}).describe().values == ("f",)
    assert variable(missing=({"lo": 2.0, "hi": 9.0},)).describe().values == (1,)
    many = variable(labels={float(code): "long" * 9 for code in range(40)}).describe()
    assert len(many.values) == 40
    assert many.remark.endswith("…")
    assert len(many.remark) == 201


def test_texts_that_lie_apart_are_refused_before_a_row_is_read(tmp_path: Path) -> None:
    pyreadstat.write_dta(pd.DataFrame({"note": ["é" * 2500], "short": ["日"]}), tmp_path / "t.dta")
    assert cells(tmp_path / "t.dta", "short") == ["日"]
    with pytest.raises(SourceError, match=r"column 'note' is a strL.*recast str2045"):
        open_source(tmp_path / "t.dta").batches(["short", "note"])


@pytest.mark.parametrize("kind", ["sav", "xpt"])
def test_long_texts(kind: str, tmp_path: Path) -> None:
    text = "é日" * 1000
    {"sav": pyreadstat.write_sav, "xpt": pyreadstat.write_xport}[kind](
        pd.DataFrame({"note": [text]}), tmp_path / f"t.{kind}"
    )
    assert cells(tmp_path / f"t.{kind}", "note") == [text]


def test_an_empty_file_has_no_batches(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"age": pd.Series([], dtype=float)}), tmp_path / "t.sav")
    assert list(open_source(tmp_path / "t.sav").batches(["age"])) == []


def test_a_clock_has_a_type() -> None:
    days = Clock(since=datetime.date(1960, 1, 1), tick=1, days=True)
    assert days.type == pa.date32()
