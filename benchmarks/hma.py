"""SDV's HMA, which promises no privacy, on a pair of tables: run by an interpreter that has `sdv` 2.

    PYTHON_WITH_SDV benchmarks/hma.py FOLDER PARENTS CHILDREN KEY OUT

FOLDER has PARENTS.csv.gz and CHILDREN.csv.gz; the synthetic tables are written to OUT. It is a file of its own since
`sdv` is no dependency of this project, and may need other versions of what it shares with it.
"""

import sys
from pathlib import Path

import pandas as pd
from sdv.metadata import Metadata
from sdv.multi_table import HMASynthesizer


def main(folder: str, parents: str, children: str, key: str, out: str) -> None:
    """Fit HMA with its own settings, and write as many parents as there are."""
    data = {name: pd.read_csv(Path(folder) / f"{name}.csv.gz") for name in (parents, children)}
    metadata = Metadata.detect_from_dataframes(data)
    for name in (parents, children):
        metadata.update_column(table_name=name, column_name=key, sdtype="id")
    if metadata.tables[parents].primary_key != key:
        metadata.set_primary_key(table_name=parents, column_name=key)
    if metadata.tables[children].primary_key is not None:
        metadata.remove_primary_key(table_name=children)
    if not metadata.relationships:
        metadata.add_relationship(
            parent_table_name=parents, child_table_name=children, parent_primary_key=key, child_foreign_key=key
        )
    synthesizer = HMASynthesizer(metadata, verbose=False)
    synthesizer.fit(data)
    made = synthesizer.sample(num_rows=len(data[parents]), main_table_name=parents)
    for name, table in made.items():
        table.to_csv(Path(out) / f"{name}.csv", index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
