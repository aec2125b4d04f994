"""What the page says of the noise, measurement by measurement."""

from kernelease.report.page import step_records
from tests.bundle.every_bundle import honest


def test_every_measurement_names_its_columns():
    release = honest("counts under add-remove")
    records = step_records(release)
    assert records[0][0] == []  # the number of rows
    assert [tuple(record[0]) for record in records] == [
        noisy.block.columns for noisy in release.measurements.measured.blocks
    ]
