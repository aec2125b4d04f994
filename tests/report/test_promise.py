"""What the page says of the noise, block by block."""

from kernelease.report.page import step_records
from tests.release.every_bundle import honest


def test_every_block_has_a_name():
    records = step_records(honest("counts under add-remove"))
    assert records[0]["what"] == "number of rows"
    assert all(record["what"] for record in records)
