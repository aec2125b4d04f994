"""Code books: what a file of another tool says about the columns of a table."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias
from xml.etree import ElementTree

from kernelease.errors import ParameterError
from kernelease.strangers import DEEPEST, parse_json, read_text
from kernelease.table.draft import WORDS, Described

# ---- What a code book says, as a schema has it.


def bound(text: Any, tag: str | None) -> Any:
    """A bound as TOML has it: a number where the type is one, else the text.

    >>> bound("17", "integer"), bound("0.5", "number"), bound("2024-01-01", "date"), bound("", "integer")
    (17, 0.5, '2024-01-01', None)
    """
    if text is None or str(text).strip() == "":
        return None
    kind = WORDS.get((tag or "").strip().lower())
    if kind not in ("integer", "number"):
        return str(text).strip()
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if kind == "integer" and number.is_integer() else number


# ---- A code book that is a CSV file: a line for each column, or a line for each value of a column.


Tell: TypeAlias = Callable[[str], None]
"""What is told how headings were guessed."""


def silently(text: str) -> None:
    """Tell nobody."""


_HEADINGS: Final = {
    "name": ("name", "column", "variable", "field", "var", "variable name", "column name", "field name"),
    "type": ("type", "data type", "datatype", "format", "class", "level", "measurement level"),
    "min": ("min", "minimum", "lowest", "lower", "from"),
    "max": ("max", "maximum", "highest", "upper", "to"),
    "values": (
        "values",
        "categories",
        "codes",
        "levels",
        "choices",
        "allowed values",
        "permitted values",
        "value",
        "code",
    ),
    "nullable": ("nullable", "missing", "optional", "null"),
}
_PARTS = ("|", ";", ",")  # between values, the first that is there
_WORDS_OF_A_VALUE = 3  # more are a sentence about a column. convention: values are short
_GUESSED = "guessed from the code book: check them"
_YES = frozenset(["yes", "y", "true", "t", "1"])


def read_codebook(text: str, columns: Collection[str] = (), tell: Tell = silently) -> dict[str, Described]:
    r"""The columns that a code book lists, under headings as people choose them.

    Headings that nobody knows are guessed from the names of the table's `columns`; `tell` is told how.

    >>> book = "variable;type;min;max;codes\nage;integer;0;120;\nsex;category;;;1=female|2=male\n"
    >>> read_codebook(book)["sex"].values, read_codebook(book)["age"].max
    (('1', '2'), 120)
    >>> read_codebook("Merkmal;Inhalt\nage;0-120\nsex;f, m\n", ("age", "sex"))["age"].max
    120
    """
    first = text.split("\n", 1)[0]
    separator = max((";", "\t", ","), key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    except csv.Error as error:
        raise ParameterError(f"The code book can't be read as CSV: {error}. Is a quote not closed?") from None
    return read_book_lines(rows, columns, tell)


def read_book_lines(
    rows: Sequence[Sequence[str]], columns: Collection[str] = (), tell: Tell = silently
) -> dict[str, Described]:
    """The columns that the lines of a code book list, the first of which has headings."""
    places = _known_places(rows[0] if rows else [])
    if (len(places) > 1 and "name" in places) or not columns:
        if "name" not in places:
            raise ParameterError(
                "The code book must have a column called name, column, variable or field in its first line; beside it "
                "type, min, max, values and nullable are read."
            )
        return _read_places(rows[1:], places)
    name, others = _guess_places(rows, columns, places)
    heading = [cell.strip() or f"number {place + 1}" for place, cell in enumerate(rows[0])]
    about = " and ".join(repr(heading[place]) for place in others)
    tell(f"The code book: {heading[name]!r} is taken for names of columns, {about} for types, ranges and values.")
    named = [row for row in rows[1:] if name < len(row)]
    times = Counter(row[name].strip() for row in named)
    lines = []
    for row in named:
        others_of = [row[place] for place in others if place < len(row)]
        guess = _guess_cells(others_of, one_value=times[row[name].strip()] > 1)
        lines.append([row[name], *(guess.get(key, "") for key in _HEADINGS if key != "name")])
    found = _read_places(lines, {key: place for place, key in enumerate(_HEADINGS)})
    return {column: replace(one, remark=_GUESSED) if one.values else one for column, one in found.items()}


def _read_places(rows: Sequence[Sequence[str]], places: Mapping[str, int]) -> dict[str, Described]:
    cells: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        found = {key: row[place].strip() for key, place in places.items() if place < len(row)}
        if name := found.pop("name", ""):
            for key, value in found.items():
                cells.setdefault(name, {}).setdefault(key, []).append(value)
    return {name: _describe_lines(columns) for name, columns in cells.items()}


def _known_places(header: Sequence[str]) -> dict[str, int]:
    words = [cell.strip().lower().replace("_", " ").lstrip("\ufeff") for cell in header]
    places = {key: next((words.index(word) for word in known if word in words), -1) for key, known in _HEADINGS.items()}
    return {key: place for key, place in places.items() if place >= 0}


def _guess_places(
    rows: Sequence[Sequence[str]], columns: Collection[str], known: Mapping[str, int]
) -> tuple[int, tuple[int, ...]]:
    """Where the names of columns stand, and where what is said about them: names are what the table has."""
    width = max((len(row) for row in rows), default=0)
    hits = [sum(place < len(row) and row[place].strip() in columns for row in rows[1:]) for place in range(width)]
    best = max(hits, default=0)
    name = known.get("name", hits.index(best) if best else -1)
    if name < 0:
        raise ParameterError(
            "The code book must have a column with the names of the table's columns, and none of its columns has one "
            "of them. Compare the names; headings are free."
        )
    return name, tuple(place for place in range(width) if place != name)


_RANGE = re.compile(
    r"(?P<low>-?\d+(?:\.\d+)?|\d{4}-\d\d-\d\d)\s*(?:-|–|—|\.\.+|to|bis|à|until)\s*(?P<high>-?\d+(?:\.\d+)?|\d{4}-\d\d-\d\d)"
)


def _guess_cells(cells: Iterable[str], *, one_value: bool = False) -> dict[str, str]:
    """What cells under unknown headings say: a type, a range, values; a sentence says nothing that can be read.

    With `one_value`, a book has several lines for a column, and each may hold one value.

    >>> _guess_cells(["0-120"]), _guess_cells(["1=female; 2=male", "the sex"]), _guess_cells(["age in years"])
    ({'type': 'integer', 'min': '0', 'max': '120'}, {'values': '1=female; 2=male'}, {})
    """
    found: dict[str, str] = {}
    for cell in (cell.strip() for cell in cells):
        span = _RANGE.fullmatch(cell)
        if cell.lower() in WORDS:
            found["type"] = cell.lower()
        elif span is not None:
            kind = "date" if "-" in span["low"][1:] else "number" if "." in cell.replace("..", "") else "integer"
            found |= {"type": found.get("type", kind), "min": span["low"], "max": span["high"]}
        elif "values" not in found and cell and (one_value or _is_list(cell)):
            found["values"] = cell
    return found


def _is_list(cell: str) -> bool:
    """Whether a cell lists values: with labels, or several short ones."""
    sign = next((sign for sign in _PARTS if sign in cell), None)
    short = all(len(part.split()) <= _WORDS_OF_A_VALUE for part in cell.split(sign or "="))
    return "=" in cell or (sign is not None and short)


def _describe_lines(cells: dict[str, list[str]]) -> Described:
    first = {key: next((value for value in values if value), "") for key, values in cells.items()}
    kind, listed = first.get("type") or None, [value for value in cells.get("values", []) if value]
    values = _split_values(listed[0]) if len(listed) == 1 else [_code(value) for value in listed]
    known = first.get("nullable", "").lower()
    return Described(
        type=kind,
        min=bound(first.get("min"), kind),
        max=bound(first.get("max"), kind),
        values=tuple(dict.fromkeys(values)),
        nullable=(known in _YES) if known else None,
    )


def _split_values(text: str) -> list[str]:
    sign = next((part for part in _PARTS if part in text), None)
    return [_code(part) for part in (text.split(sign) if sign else [text]) if part.strip()]


def _code(text: str) -> str:
    """The value of "1 = female" or "1: female"; the text where there is no label."""
    return text.split("=", 1)[0].strip().strip("\"'")


# ---- DDI-Codebook: the XML in which data archives describe surveys.


def read_ddi(text: str) -> dict[str, Described]:
    """The variables of a DDI-Codebook file, of any version: range, categories, format.

    >>> book = '<codeBook><dataDscr><var name="SEX"><catgry><catValu>1</catValu></catgry></var></dataDscr></codeBook>'
    >>> read_ddi(book)["SEX"].values
    ('1',)
    """
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        raise ParameterError("The DDI file declares entities or a document type, which are not read. Remove them.")
    try:
        root = ElementTree.fromstring(text, ElementTree.XMLParser(target=_Shallow()))
    except (ElementTree.ParseError, ValueError) as error:
        raise ParameterError(f"The DDI file is not valid XML: {error}. Export it again.") from None
    return {name: _describe_variable(item) for item in _all(root, "var") if (name := item.get("name"))}


class _Shallow(ElementTree.TreeBuilder):
    """A tree that refuses to grow deep: what looks for descendants in descendants takes the square of its depth."""

    _depth = 0

    def start(self, tag: Any, attrs: Any, /) -> Any:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        return super().start(tag, attrs)

    def end(self, tag: Any, /) -> Any:
        self._depth -= 1
        return super().end(tag)


def _all(element: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    """The descendants of this name, whatever their namespace."""
    return (item for item in element.iter() if item.tag.rpartition("}")[2] == tag)


def _describe_variable(variable: ElementTree.Element) -> Described:
    kind = "number" if variable.get("intrvl") == "contin" else None
    form = next(_all(variable, "varFormat"), None)
    if form is not None and form.get("type") == "character":
        kind = "category"
    elif variable.get("dcml") == "0" or variable.get("intrvl") == "discrete":
        kind = "integer"
    values = [_text(item, "catValu") for item in _all(variable, "catgry") if item.get("missing") != "Y"]
    limits = next(_all(variable, "range"), None)
    low, high = (None, None) if limits is None else (limits.get("min"), limits.get("max"))
    missing = any(item.get("missing") == "Y" for item in _all(variable, "catgry"))
    return Described(
        type=kind or ("integer" if low is not None else None),
        min=bound(low, kind or "integer"),
        max=bound(high, kind or "integer"),
        values=tuple(dict.fromkeys(value for value in values if value)) if low is None else (),
        nullable=True if missing else None,
    )


def _text(element: ElementTree.Element, tag: str) -> str:
    found = next(_all(element, tag), None)
    return "" if found is None else (found.text or "").strip()


# ---- Frictionless Table Schema, alone or in a data package.


def read_table_schema(data: Mapping[str, Any]) -> dict[str, Described]:
    """The fields of a Table Schema, or of the first resource of a data package.

    >>> field = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}}
    >>> read_table_schema({"fields": [field]})["age"].nullable
    False
    """
    if "resources" in data:
        resources = data["resources"]
        data = resources[0].get("schema", {}) if isinstance(resources, list) and resources else {}
    fields = data.get("fields")
    if not isinstance(fields, list) or not all(
        isinstance(f, Mapping) and isinstance(f.get("name"), str) for f in fields
    ):
        raise ParameterError("The Table Schema must have a list of fields, each an object with a name.")
    return {field["name"]: _describe_field(field) for field in fields}


def _describe_field(field: Mapping[str, Any]) -> Described:
    rules, kind = field.get("constraints") or {}, str(field.get("type", "string"))
    form = field.get("format")
    categories = field.get("categories") or rules.get("enum") or ()
    values = [item.get("value") if isinstance(item, Mapping) else item for item in categories]
    length = rules.get("maxLength")
    return Described(
        type=kind,
        min=bound(rules.get("minimum"), kind),
        max=bound(rules.get("maximum"), kind),
        values=tuple(value if isinstance(value, int) else str(value) for value in values),
        nullable=not rules["required"] if isinstance(rules.get("required"), bool) else None,
        max_length=length if isinstance(length, int) else None,
        date_format=form if isinstance(form, str) and "%" in form else None,
    )


# ---- JSON Schema: the properties of an object are the columns.


def read_json_schema(data: Mapping[str, Any]) -> dict[str, Described]:
    """The properties of an object, or of the items of an array.

    >>> read_json_schema({"properties": {"sex": {"enum": ["f", "m", None]}}})["sex"].values
    ('f', 'm')
    """
    body = data.get("items", data) if data.get("type") == "array" else data
    required = body.get("required", [])
    properties = {name: item for name, item in body.get("properties", {}).items() if isinstance(item, Mapping)}
    return {name: _describe_property(item, name in required) for name, item in properties.items()}


def _describe_property(item: Mapping[str, Any], required: bool) -> Described:
    kinds = item.get("type", "string")
    words = [kinds] if isinstance(kinds, str) else list(kinds)
    null = "null" in words or None in item.get("enum", ())
    kind = next((word for word in words if word != "null"), "string")
    if kind == "string" and item.get("format") in ("date", "date-time"):
        kind = str(item["format"])
    values = tuple(value for value in item.get("enum", ()) if value is not None)
    return Described(
        type=kind,
        min=item.get("minimum"),
        max=item.get("maximum"),
        values=tuple(value if type(value) is int else str(value) for value in values),
        nullable=True if null else False if required else None,
        max_length=item.get("maxLength"),
    )


# ---- Recognising which kind of code book a file is.


def read_dictionary(path: Path, columns: Collection[str] = (), tell: Tell = silently) -> dict[str, Described]:
    """What a code book says, by column: a CSV file, a Frictionless Table Schema, a JSON Schema, or a DDI-Codebook."""
    try:
        text = read_text(path, encoding="utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise ParameterError(f"{path} can't be read: {error.strerror}. Check the name of the code book.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8. Save the code book as UTF-8.") from None
    except ValueError as error:
        raise ParameterError(
            f"{path} can't be read as a code book: {error}. Give the columns that are needed."
        ) from None
    found = _by_content(text, path, columns, tell)
    if not found:
        raise ParameterError(f"{path} describes no column. Is it the code book?")
    return found


def _by_content(text: str, path: Path, columns: Collection[str], tell: Tell) -> dict[str, Described]:
    if text.lstrip().startswith("<"):
        return read_ddi(text)
    if not text.lstrip().startswith(("{", "[")):
        return read_codebook(text, columns, tell)
    try:
        data = parse_json(text)
    except ValueError as error:
        told = f"{path} begins like JSON, and is not: {error}. Correct it, or give a CSV file."
        raise ParameterError(told) from None
    if isinstance(data, Mapping) and ("fields" in data or "resources" in data):
        return read_table_schema(data)
    if isinstance(data, Mapping) and ("properties" in data or isinstance(data.get("items"), Mapping)):
        return read_json_schema(data)
    raise ParameterError(f"{path}: JSON must be a Frictionless Table Schema (fields) or a JSON Schema (properties).")
