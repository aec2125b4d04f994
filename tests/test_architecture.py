"""How deep the house is, how far a row walks, and whether the pages about it are true."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from docs import house, make_for_auditors
from docs.imports import MODULES, closure, imports_of, longest_chain
from docs.make_architecture import PARTS, walk_of_a_row, walk_of_a_vector, written
from kernelease.bundle import codec

DOCS = Path(__file__).parent.parent / "docs"
LONGEST_CHAIN = 13  # modules, from the command line down to the errors
NOT_YET_FLAT: tuple[str, ...] = ()  # packages whose own chains are not counted
MOST_MODULES, MOST_SWITCHES = 38, 24  # that a row or a vector passes
MOST_OF_THE_BARRIER = 2_500  # lines that an auditor reads, docstrings included, for one table and for several
MOST_GIVEN, MOST_GIVEN_SWITCHES, MOST_CALL_SWITCHES = 40, 300, 4_000  # by house.py, of a CSV file of eight columns
MOST_GIVEN_A_VECTOR, MOST_SWITCHES_OF_A_VECTOR = 30, 300
MOST_UP_TO_THE_NOISE = 4_000  # lines of functions that run before the first noise, in the release of a CSV file
MOST_PARTICIPLES = 40  # names of functions such as `rejected`, where that is the plain word


def _flat(chain: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(module for module in chain if module.split(".")[0] not in NOT_YET_FLAT)


@cache
def _deepest(module: str) -> tuple[str, ...]:
    below = [other for other in sorted(imports_of(module)) if _flat((other,))]
    return (module, *max((_deepest(other) for other in below), key=len, default=()))


@pytest.mark.slow
def test_the_longest_chain_of_imports() -> None:
    chain = max((_deepest(module) for module in MODULES if _flat((module,))), key=len)
    assert len(chain) <= LONGEST_CHAIN, " → ".join(chain)


def test_chains_are_found() -> None:
    assert longest_chain("errors") == ("errors",)
    assert longest_chain("arrays") == ("arrays",)
    assert longest_chain("machine") == ("machine", "errors")
    assert "table.schema" not in imports_of("table.domain")  # named for type checkers only


def test_a_file_is_found_by_its_name_alone() -> None:
    names = [path.name for path in MODULES.values() if path.name != "__init__.py"]
    assert sorted(names) == sorted(set(names))


def test_functions_say_what_they_do_or_return() -> None:
    found = house.functions_named_by_participles()
    assert len(found) <= MOST_PARTICIPLES, "name it by a verb or a noun, as `measure` or `rows_of`: " + ", ".join(found)


@pytest.mark.parametrize("name", ["asked", "_told", "drawn", "__spelt"])
def test_a_participle_would_be_seen(name: str) -> None:
    assert house.is_participle(name)


@pytest.mark.parametrize("name", ["ask", "_tell", "told_apart", "is_settled", "rows_of", "draw"])
def test_verbs_and_nouns_are_let_through(name: str) -> None:
    assert not house.is_participle(name)


def test_names_are_imported_from_where_they_are_defined() -> None:
    """A package's front door draws in all that is behind it, so inside the library nobody goes through one."""
    fronts = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    inside = {name for name in set(MODULES) - fronts - {"__main__"} if _flat((name,))}
    through = {(module, front) for module in inside for front in imports_of(module) & fronts}
    assert {pair for pair in through if _has_names(pair[1])} == set()


def _has_names(front: str) -> bool:
    return any(isinstance(node, ast.ImportFrom) for node in ast.parse(MODULES[front].read_text()).body)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["picture", "chain"])
def test_the_page_is_up_to_date(part: str) -> None:
    assert written(part) == PARTS[part](), "run: python docs/make_architecture.py"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "walked"), [("row", walk_of_a_row), ("vector", walk_of_a_vector)])
def test_walks_are_short_and_as_the_page_has_them(name: str, walked) -> None:
    walk = walked()
    assert len(walk.passed) <= MOST_MODULES, " → ".join(walk.passed)
    assert walk.switches <= MOST_SWITCHES, " → ".join(walk.passed)
    listed = re.findall(r"^\d+\. `(.*?)\.py`", written(f"walk of a {name}"), re.MULTILINE)
    assert set(listed) == {module.replace(".", "/") for module in walk.passed}, "run: python docs/make_architecture.py"


@pytest.mark.slow
def test_a_walk_sees_what_data_pass_and_nothing_else() -> None:
    walk = walk_of_a_row()
    assert {"sources.csv_file", "table.encode", "exact.counting", "privacy.noise", "bundle.container"} <= set(
        walk.passed
    )
    assert "privacy.calibration" in walk.called
    assert "privacy.calibration" not in walk.passed


SECTIONS = re.split(r"^## ", (DOCS / "for-auditors.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
BARRIER = frozenset(name for name in MODULES if name.split(".")[0] in house.BARRIER)
FRONTS = {name for name in BARRIER if MODULES[name].name == "__init__.py"}
DOORS = {"privacy.mechanisms"}


def _section(title: str) -> str:
    return next(section for section in SECTIONS if section.startswith(title))


def _listed(title: str) -> set[str]:
    return {_module(path) for path in re.findall(r"^\| `([\w/]+)\.py` \|", _section(title), re.MULTILINE)}


def _module(path: str) -> str:
    return path.replace("/", ".")


def test_the_barrier_is_small() -> None:
    assert house.lines(house.barrier()) <= MOST_OF_THE_BARRIER


@pytest.mark.slow
def test_a_row_goes_from_layer_to_layer_seldom() -> None:
    row = house.visits_of_a_row()
    assert len(row.given) <= MOST_GIVEN, sorted(row.given)
    assert row.data_switches <= MOST_GIVEN_SWITCHES
    assert row.call_switches <= MOST_CALL_SWITCHES


@pytest.mark.slow
def test_a_vector_goes_from_layer_to_layer_seldom() -> None:
    vector = house.visits_of_a_vector()
    assert len(vector.given) <= MOST_GIVEN_A_VECTOR, sorted(vector.given)
    assert vector.data_switches <= MOST_SWITCHES_OF_A_VECTOR


@pytest.mark.slow
def test_little_runs_up_to_the_noise() -> None:
    row = house.visits_of_a_row()
    assert 1_000 < house.lines_of_functions(row.functions_before_noise) <= MOST_UP_TO_THE_NOISE


ROOMS = (
    "cuda",
    "fit.gaussians.search_on_gpu",
    "fit.mixtures.device",
    "sources.spark",
    "sources.partial",
    "sources.pushdown",
    "sources.device_rows",
    "private_tests",
)


@pytest.mark.parametrize("visits", [house.visits_of_a_row, house.visits_of_a_vector])
def test_optional_engines_are_rooms_that_nobody_enters_who_did_not_ask(visits) -> None:
    entered = visits().run
    assert "exact.rows" in entered
    assert {module for module in entered if module.startswith(ROOMS)} == set()


def test_auditors_are_shown_the_whole_barrier() -> None:
    assert _listed("The barrier") == BARRIER - FRONTS


def test_auditors_are_shown_all_that_the_barrier_imports() -> None:
    aside = {
        _module(path) for path in re.findall(r"`([\w/]+)\.py`", _section("What it imports").split("These come")[1])
    }
    assert _listed("What it imports") | aside == closure(BARRIER) - BARRIER
    assert not _listed("What it imports") & aside


def test_auditors_are_shown_all_that_calls_the_barrier() -> None:
    doors = DOORS | {name for name in BARRIER if name.startswith("exact.")}
    assert _listed("What calls it") == {name for name in set(MODULES) - BARRIER if imports_of(name) & doors}


@pytest.mark.slow
def test_auditors_are_shown_every_map_and_every_column() -> None:
    made = _modules_of_subclasses("FeatureMap") | _modules_of_subclasses("Column")
    assert made <= _listed("What keeps") | _listed("What it imports")


def _modules_of_subclasses(base: str) -> set[str]:
    """Where classes are defined that derive from one, at any remove."""
    classes = [
        (name, node.name, {part.id for part in node.bases if isinstance(part, ast.Name)})
        for name, path in MODULES.items()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    derived = {base}
    while more := {child for _, child, parents in classes if parents & derived} - derived:
        derived |= more
    return {name for name, child, _ in classes if child in derived - {base}}


# What measures, adds up, prices, saves, estimates, fits, answers and reports: it asks a block, whatever kind it is of.
GENERIC = (
    *("analysis", "answers", "bundle", "conformance", "estimate", "exact", "fit", "measured.blocks", "measured.bags"),
    *("measured.measured", "measured.views", "passes", "privacy", "report", "sources"),
)
NAMED = {("exact.counting", "Counts")}  # single columns are counted once, before anybody asks


def _names_of_kinds() -> dict[str, str]:
    """Every kind of block that can be built, and its home."""
    homes = _modules_of_subclasses("Block")
    classes = [(home, node) for home in homes for node in ast.parse(MODULES[home].read_text(encoding="utf-8")).body]
    return {
        node.name: home
        for home, node in classes
        if isinstance(node, ast.ClassDef) and any("final" in ast.unparse(one) for one in node.decorator_list)
        if {"Block", "RowSums"} & {ast.unparse(base) for base in node.bases}
    }


def _kinds_named_in(source: str, kinds: dict[str, str]) -> set[str]:
    """Kinds that a module imports, for a type checker too, or spells out in quotes."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            places = {f"{node.module}.{one.name}" for one in node.names}
            found |= {
                kind for kind, home in kinds.items() if {f"kernelease.{home}", f"kernelease.{home}.{kind}"} & places
            }
        elif isinstance(node, ast.Constant) and node.value in kinds:
            found.add(node.value)
    return found


def test_no_generic_chapter_names_a_kind_of_block() -> None:
    """So that a new kind is its own file, and the method that measures it."""
    kinds = _names_of_kinds()
    assert {"Counts", "Contrasts", "Moments", "Sides", "Spread"} == set(kinds)
    generic = {name for name in MODULES if any(name == part or name.startswith(f"{part}.") for part in GENERIC)}
    named = {(name, kind) for name in generic for kind in _kinds_named_in(MODULES[name].read_text("utf-8"), kinds)}
    assert named == NAMED


@pytest.mark.parametrize(
    "branch",
    [
        "from kernelease.measured.spreads import Spread\nisinstance(block, Spread)",
        "if TYPE_CHECKING:\n    from kernelease.measured.spreads import RowSpread, Spread",
        "from kernelease.measured import spreads\nisinstance(block, spreads.Spread)",
        "type(block).__name__ == 'Spread'",
        "match block:\n    case Spread(): pass\nfrom kernelease.measured.spreads import Spread",
    ],
)
def test_a_branch_for_one_kind_would_be_seen(branch: str) -> None:
    assert _kinds_named_in(branch, _names_of_kinds()) == {"Spread"}


def test_auditors_are_told_how_much_there_is_to_read() -> None:
    """Counts are written by a program, and so are their sums; a file may grow a little until it runs again."""
    page = make_for_auditors.TARGET.read_text(encoding="utf-8")
    assert list(make_for_auditors.odd_counts(page)) == [], "run: python docs/make_for_auditors.py"
    assert make_for_auditors.written("sizes", page) == make_for_auditors.sizes(page), (
        "run: python docs/make_for_auditors.py"
    )


def test_auditors_of_bundles_are_shown_all_that_verify_runs() -> None:
    listed = _listed("What the auditor of `verify` reads")
    assert set(make_for_auditors.walked()) <= listed, "run: python docs/make_for_auditors.py"
    kinds = {module for module in MODULES if module.startswith(codec._HOMES)}  # what a bundle may hold, by its tag
    assert listed <= closure(frozenset({"bundle.verify", "fronts", *kinds})), "run: python docs/make_for_auditors.py"
    assert {"bundle.verify", "bundle.container", "bundle.data_parquet", "strangers"} <= listed
    assert not {name for name in listed if name.split(".")[0] in ("exact", "sources")}


def test_audits_that_auditors_are_sent_to_are_run() -> None:
    run = (DOCS / "audit-results.md").read_text(encoding="utf-8")
    named = re.findall(r"\*([^*|\n]+)\*", _section("What the barrier assumes"))
    assert len(named) > 20
    assert [name for name in named if f": {name} |" not in run] == []


def test_sensitivities_are_made_in_one_place() -> None:
    makers = {
        name
        for name, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Sensitivity"
    }
    assert makers == {"privacy.sensitivity"}
