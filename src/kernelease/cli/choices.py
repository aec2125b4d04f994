"""Words that options take, where what they stand for is loaded later: help must not wait for it. Tests compare."""

from enum import StrEnum, unique

SIGNIFICANCE = 0.05  # of tests: that of `kernelease.analysis.inference`


@unique
class Relation(StrEnum):
    """`kernelease.privacy.neighbours.Neighbours`, by its values."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"


@unique
class Whose(StrEnum):
    """`kernelease.analysis.estimate.Target`, by its values."""

    TABLE = "table"
    POPULATION = "population"


@unique
class RecordEnd(StrEnum):
    """`kernelease.table.records.Records`, by its values."""

    QUOTED = "quoted"
    LINES = "lines"
