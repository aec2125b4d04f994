"""All cases. A module is named here or it does not run; one that can't be imported is an error, not a gap."""

from importlib import import_module

from audits.case import Case

MODULES: tuple[str, ...] = (
    "mechanisms",
    "composition",
    "books",
    "features",
    "methods",
    "rounds",
    "blocks",
    "permutation",
    "drafts",
    "seeds",
    "membership",
    "neighbours",
    "low_bits",
    "sums",
    "timing",
    "faults",
    "concurrency",
    "soak",
    "bundles",
    "forgeries",
    "hider",
    "fuzzing",
)


def all_cases() -> tuple[Case, ...]:
    """The cases of every module, in the order of the report."""
    cases = tuple(case for name in MODULES for case in import_module(f"audits.{name}").CASES)
    names = [case.name for case in cases]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"Two cases have the same name: {', '.join(twice)}.")
    return cases
