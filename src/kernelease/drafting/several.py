"""A schema of several tables to begin with: which columns are keys, which table is the unit, where the others hang."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa

from kernelease.drafting.tally import Persons
from kernelease.errors import ParameterError
from kernelease.relational.schema_of_tables import MOST_RECORDS, NAME_OF_TABLE
from kernelease.sources.csv_file import CsvFile, CsvFormat
from kernelease.sources.opening import SUFFIXES, open_source
from kernelease.sources.source import Source, source_columns
from kernelease.table.columns.registry import FILL_IN
from kernelease.table.draft import MARK, TO_DECIDE, TO_FILL_IN, draft, type_word
from kernelease.table.parsing import parse_number
from kernelease.table.toml import toml_key, toml_value
from kernelease.table.written import Written

_PLAIN = ("id", "key", "pk", "uid", "uuid")  # convention: a column of this name is its own table's key
_ENDINGS = ("", *_PLAIN, "no", "nr", "num", "number", "code", "ref")  # convention: after the name of a table's row
_ODD = {"people": "person", "children": "child", "men": "man", "women": "woman"}
_PERSONS = re.compile(  # convention: what the rows of a table are called that somebody wants to protect
    "person|household|home|family|patient|customer|client|user|member|player|student|pupil|employee|worker|citizen|"
    "subject|participant|respondent|donor|taxpayer|resident|tenant|account|driver"
)
_DISTINCT, _CONTAINED = 0.99, 0.95  # convention: of keys, and of what refers to them: the rest are mistakes
_KEPT = 0.99  # convention: of parents whose records a proposed cap leaves in: it may be high, since noise does not grow
_REFERRED = 0.5  # convention: of all keys, that whole numbers under another name refer to: fewer may be chance


Looking: TypeAlias = Callable[[Any, str, Written, Sequence[str]], str]  # rows, name, how written, keys: a draft


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A column of a table that names rows of another, by the key of that. `why` is how it was found."""

    child: str
    foreign_key: str
    parent: str
    key: str
    strength: int = 0  # of two links the stronger counts
    why: str = "by its name"


def draft_tables(data: Any, *, looking: Looking | None = None, name: str | None = None) -> str:
    """The TOML text of a schema of several tables: a folder with a file for each, or a mapping from names to tables.

    Keys are found by the names of columns alone. With `looking`, which drafts a table by a look at its rows, private
    rows are read: then values decide which columns are keys, and how many records most parents have is proposed. All of
    that is marked, and can't be used before it is confirmed.
    """
    given = _tables_in(data)
    written = {table: _declare_separator(open_source(one)) for table, one in given.items()}
    sources = {table: open_source(one, csv=CsvFormat.of(written[table])) for table, one in given.items()}
    columns = {table: source.names() for table, source in sources.items()}
    cells = {table: _cells(source) for table, source in sources.items()} if looking else None
    found = _by_names(columns)
    links = _choose_links(found if cells is None else _by_values(found, cells))

    def describe_table(table: str, keys: Sequence[str]) -> str:
        if looking is not None:
            return looking(given[table], table, written[table], keys)
        source = sources[table]
        typed = source.declared_schema() is not None
        rest = pa.schema([one for one in source_columns(source) if one.name not in keys])
        return draft(rest, table, declared_types=typed, written=written[table])

    return _Forest.of(columns, links, cells).text(
        describe_table,
        name=name,
        dates=_dates(sources),
        files={table: one.name for table, one in given.items() if isinstance(one, Path)},
    )


def draft_linked(texts: Mapping[str, str], links: Sequence[Link], keys: Mapping[str, str]) -> str:
    """The same where links and keys are known: `texts` are drafts of each table's columns."""
    forest = _Forest.of(dict.fromkeys(texts, ()), _choose_links(links), None, keys)
    return forest.text(lambda table, _: texts[table], name=None, dates={}, files={})


def holds_tables(folder: str | Path) -> bool:
    """Whether a folder has files of different names of columns: else they are parts of one table."""
    files = [path for path in sorted(Path(folder).iterdir()) if path.name.endswith(SUFFIXES)]
    return len({open_source(path).names() for path in files}) > 1


def _tables_in(data: Any) -> dict[str, Any]:
    if isinstance(data, Mapping):
        found = dict(data)
    else:
        folder = Path(data) if isinstance(data, str | Path) else Path("?")
        if not folder.is_dir():
            told = "give a folder with a file for each, or in Python a mapping from their names to tables"
            raise ParameterError(f"A draft of several tables: {told}.")
        files = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES))
        found = {path.name.split(".")[0]: path for path in files}
        if len(found) < len(files):
            raise ParameterError(f"{folder}: two of its files would be one table. Leave one file for each.")
    if len(found) < 2:
        raise ParameterError(f"A draft of several tables: there must be two or more, found {len(found)}.")
    for table in found:
        if not isinstance(table, str) or not NAME_OF_TABLE.fullmatch(table):
            told = "must be of a to z, 0 to 9 and _, from a letter on, at most 40. Rename it"
            raise ParameterError(f"A draft of several tables: the name {str(table)[:60]!r} {told}.")
    return found


def _declare_separator(source: Source) -> Written:
    """With the separator that the first line of a CSV file shows: the header is public."""
    return Written(separator=source.other_separator()) if isinstance(source, CsvFile) else Written()


def _dates(sources: Mapping[str, Source]) -> dict[str, str]:
    """The first column of each table that is declared a date, by which records may come."""
    found: dict[str, str] = {}
    for table, source in sources.items():
        declared = source.declared_schema()
        named = [one.name for one in declared or () if type_word(one.type) in ("date", "datetime")]
        named += [column for column in source.names() if column.lower() in ("date", "time", "year", "timestamp")]
        if named:
            found[table] = named[0]
    return found


# ---- Which columns are keys: by their names, and by their values.


def _by_names(columns: Mapping[str, Sequence[str]]) -> list[Link]:
    """A column refers to a table that its name names, or to a column of the same name that sounds like a key."""
    links = []
    for parent, keys in columns.items():
        for child, others in columns.items():
            for column in others if child != parent else ():
                if (key := _key_for(column, parent, keys)) is not None:
                    links.append(Link(child=child, foreign_key=column, parent=parent, key=key, strength=2))
                elif column in keys and _sounds_like_a_key(column):
                    links.append(Link(child=child, foreign_key=column, parent=parent, key=column, strength=1))
    return links


def _key_for(column: str, table: str, keys: Sequence[str]) -> str | None:
    """The key of a table that a column of another refers to by its name: household, household_id, householdID."""
    if not _names_rows_of(column, table):
        return None
    if column in keys:
        return column
    own = [key for key in keys if _bare(key) in _PLAIN] + [key for key in keys if _names_rows_of(key, table)]
    return own[0] if own else None


def _names_rows_of(column: str, table: str) -> bool:
    """Whether a name says that it names the rows of a table.

    >>> (
    ...     _names_rows_of("householdID", "households"),
    ...     _names_rows_of("person_no", "people"),
    ...     _names_rows_of("age", "people"),
    ... )
    (True, True, False)
    """
    return _bare(column) in {word + ending for word in _singulars(table) for ending in _ENDINGS}


def _singulars(table: str) -> set[str]:
    bare = _bare(table)
    cut = {bare.removesuffix("s"), bare.removesuffix("es")} | ({bare[:-3] + "y"} if bare.endswith("ies") else set())
    return {bare, *cut, _ODD.get(bare, bare)}


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _sounds_like_a_key(column: str) -> bool:
    """Whether it names somebody's rows; a plain id is of its own table."""
    return _bare(column) not in _PLAIN and any(_bare(column).endswith(plain) for plain in _PLAIN)


def _cells(source: Source) -> dict[str, Counter[bytes | None]]:
    every = {column: Persons(unit=column, cap=1) for column in source.names()}
    for batch in source.batches(source.names()):
        for column, counted in every.items():
            counted.add(batch.column(column))
    return {column: counted.rows for column, counted in every.items()}


def _by_values(found: Sequence[Link], cells: Mapping[str, Mapping[str, Counter[bytes | None]]]) -> list[Link]:
    """Links that values agree to; and such as values show by themselves, to keys that are known."""
    links = [
        replace(one, why=f"by its name, and {MARK}")
        for one in found
        if _refers(cells[one.child][one.foreign_key], cells[one.parent][one.key])
    ]
    known = {(one.parent, one.key) for one in links}
    known |= {
        (table, column)
        for table, own in cells.items()
        for column in own
        if _bare(column) in _PLAIN or _names_rows_of(column, table)
    }
    taken = {(one.child, one.foreign_key) for one in links} | known
    for parent, key in sorted(known):
        for child, own in cells.items():
            for column in own if child != parent else ():
                if (child, column) not in taken and _shows(own[column], cells[parent][key]):
                    links.append(Link(child=child, foreign_key=column, parent=parent, key=key, why=MARK))
    return links


def _refers(column: Counter[bytes | None], keys: Counter[bytes | None]) -> bool:
    """Whether a column's values are among those of another, which are its rows' own."""
    own = keys.total() - keys[None]
    if not own or (len(keys) - (None in keys)) / own < _DISTINCT:
        return False
    there = {key: count for key, count in column.items() if key is not None}
    return sum(count for key, count in there.items() if key in keys) >= _CONTAINED * max(1, sum(there.values()))


def _shows(column: Counter[bytes | None], keys: Counter[bytes | None]) -> bool:
    """The same for a column of any name: whole numbers have to refer to many of the keys, since few may be chance."""
    if not _refers(column, keys) or len(column) < 2:
        return False
    whole = all(parse_number(key).is_integer() for key in column if key is not None)
    return not whole or len(column) >= _REFERRED * len(keys)


def _choose_links(links: Iterable[Link]) -> list[Link]:
    """At most one link between two tables, none in a circle, each column in one of them: the strongest first."""
    chosen: list[Link] = []
    for one in sorted(links, key=lambda link: -link.strength):
        above = _above(one.parent, chosen)
        used = any(other.child == one.child and one.foreign_key == other.foreign_key for other in chosen)
        if not used and one.child not in above and one.parent not in {x.parent for x in chosen if x.child == one.child}:
            chosen.append(one)
    return [
        one
        for one in chosen  # a parent of a parent is reached anyway
        if not any(
            one.parent in _above(other.parent, chosen) - {other.parent} for other in chosen if other.child == one.child
        )
    ]


def _above(table: str, links: Sequence[Link]) -> set[str]:
    found = {table}
    while more := {one.parent for one in links if one.child in found} - found:
        found |= more
    return found


# ---- The unit, what hangs on it, and how it is written down.


@final
@dataclass(frozen=True, kw_only=True)
class _Forest:
    """All tables, the unit first and each after its owner; then those that hang on nothing."""

    columns: Mapping[str, Sequence[str]]
    links: tuple[Link, ...]
    unit: str
    order: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Counter[bytes | None]]] | None
    keys: Mapping[str, str]

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Sequence[str]],
        links: Sequence[Link],
        cells: Mapping[str, Mapping[str, Counter[bytes | None]]] | None,
        keys: Mapping[str, str] | None = None,
    ) -> "_Forest":
        """The unit is a table without parents: one that is called like persons, else the one with most below it."""
        children = {one.child for one in links}

        def rank(table: str) -> tuple[bool, int]:
            return any(map(_PERSONS.fullmatch, _singulars(table))), sum(
                table in _above(other, links) for other in columns
            )

        unit = max([table for table in columns if table not in children], key=rank)
        order = [unit]
        for table in order:
            order += [one.child for one in links if one.parent == table and one.child not in order]
        known = dict(keys or {}) | {one.parent: one.key for one in links}
        return cls(columns=columns, links=tuple(links), unit=unit, order=tuple(order), cells=cells, keys=known)

    def text(
        self,
        described: Callable[[str, Sequence[str]], str],
        *,
        name: str | None,
        dates: Mapping[str, str],
        files: Mapping[str, str],
    ) -> str:
        """All of it, as a schema file."""
        rest = [table for table in self.columns if table not in self.order]
        books = [table for table in rest if any(one.parent == table and one.child in self.order for one in self.links)]
        wanted, bodies = (*self.order, *(one for one in rest if one not in books)), {}
        for table in wanted:
            own = [self.keys[table]] if table in self.keys else []
            links = (*self._links_of(table), *self._books_of(table))
            bodies[table] = described(table, [*own, *(one.foreign_key for one in links)])
        dated = {table: dates.get(table) or _date_column(bodies[table]) for table in wanted}
        parts = [f"{TO_FILL_IN if self.cells is None else TO_DECIDE}\n{self._head(name, dated)}"]
        for table, body in bodies.items():
            parts.append(self._hanging(table, re.findall(r"^constraints = .*$", body, re.MULTILINE), dated[table]))
            parts += [_move_columns(table, body), *(_book_column(one) for one in self._books_of(table))]
        parts += [_book(table, self.keys[table], files.get(table)) for table in books]
        return "\n".join(part for part in parts if part)

    def _head(self, name: str | None, dated: Mapping[str, str | None]) -> str:
        persons = f"{FILL_IN}: is each row of it, with all that refers to it, somebody to protect?"
        lines = ["[unit]", f"table = {toml_value(self.unit)}  # {persons}"]
        lines += [] if name is None else [f"name = {toml_value(name)}"]
        lines.append('neighbours = "replace-one"  # or "add-remove", where the number of these rows is private')
        if self.cells is not None:
            lines.append("confirmed = false  # write true when every marked line below is public, or was changed")
        linked = [(table, one.parent) for table in self.order for one in self._links_of(table)[:1]]
        rules = [f"{a}.{dated[a]} >= {b}.{dated[b]}" for a, b in linked if dated[a] and dated[b]]
        if rules:
            lines.append(f"# rules = {toml_value(rules)}  # those that always hold: released rows then keep them")
        return "\n".join(lines) + "\n"

    def _links_of(self, table: str) -> list[Link]:
        """To tables that hang on the unit: the owner first."""
        found = [one for one in self.links if one.child == table and one.parent in self.order]
        return sorted(found, key=lambda one: self.order.index(one.parent))

    def _books_of(self, table: str) -> list[Link]:
        return [
            one for one in self.links if one.child == table and table in self.order and one.parent not in self.order
        ]

    def _hanging(self, table: str, rules: Sequence[str], date: str | None) -> str:
        lines = [f"[tables.{toml_key(table)}]"]
        if table in self.keys:
            lines.append(f"key = {toml_value(self.keys[table])}")
        elif table == self.unit:
            lines.append(f'key = "{FILL_IN}"  # {FILL_IN}: the column that names its rows')
        links = self._links_of(table)
        if len(links) == 1:
            one = links[0]
            lines.append(f"parent = {toml_value(one.parent)}")
            lines.append(f"foreign_key = {toml_value(one.foreign_key)}  # {one.why}")
        elif links:
            lines.append(f"parent = {toml_value([one.parent for one in links])}")
            lines.append(f"foreign_key = {toml_value([one.foreign_key for one in links])}  # {links[0].why}")
            lines.append(f"owner = {toml_value(links[0].parent)}  # {FILL_IN}: with whom are its rows protected?")
        elif table != self.unit:
            lines.append(f'parent = "{FILL_IN}"  # {FILL_IN}: no key was found. If its rows are public: see docs')
            lines.append(f'foreign_key = "{FILL_IN}"  # {FILL_IN}: the column that names a row of the parent')
        if table != self.unit:
            lines.append(self._cap(table, links))
            lines += [f"# order = {toml_value(date)}  # if its records are a sequence"] if date is not None else []
        return "\n".join([*lines, *rules]) + "\n"

    def _cap(self, table: str, links: Sequence[Link]) -> str:
        """How many records of one parent are kept: proposed where rows were looked at, so that nearly all are."""
        if self.cells is None or not links:
            told = "the noise does not grow with it; what is beyond is left out"
            return f'max_rows = "{FILL_IN}"  # {FILL_IN}: how many of its records one parent has at most; {told}'
        counts = [count for key, count in self.cells[table][links[0].foreign_key].items() if key is not None]
        most = int(np.quantile(counts, _KEPT, method="higher")) if counts else 1
        return f"max_rows = {min(MOST_RECORDS, most)}  # {MARK}"


def _date_column(text: str) -> str | None:
    found = re.search(r'^\[columns\.([\w-]+)\]\ntype = "date(?:time)?"', text, re.MULTILINE)
    return None if found is None else found[1]


def _move_columns(table: str, text: str) -> str:
    """The columns of a draft of one table, as those of one of several."""
    lines = re.sub(r"^# column .* is left out: it is a key\n\n?", "", text, flags=re.MULTILINE).split("\n")
    begins = ("[columns", "[source", "# column ")
    start = next((i for i, one in enumerate(lines) if one.startswith(begins)), len(lines))
    return "\n".join(re.sub(r"^\[", f"[tables.{toml_key(table)}.", line) for line in lines[start:])


def _book_column(link: Link) -> str:
    head = f"[tables.{toml_key(link.child)}.columns.{toml_key(link.foreign_key)}]  # {link.why}"
    return f'{head}\ntype = "category"\ncodebook = {toml_value(link.parent)}\n'


def _book(table: str, key: str, file: str | None) -> str:
    """A table that hangs on nothing, and that others refer to: a code book, if it is public."""
    told = f"{FILL_IN}: {file or 'its file'}, if its rows are public. Else remove it and the column that refers to it"
    return f'[tables.{toml_key(table)}]\npublic = "{FILL_IN}"  # {told}\nkey = {toml_value(key)}\n'
