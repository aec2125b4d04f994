"""The files of a bundle that other tools and people read: data package, Croissant, registry record, datasheet."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import pyarrow as pa

from kernelease.bundle.container import rows_file
from kernelease.certificate import NOT_PROMISED, Certificate, Measurements
from kernelease.privacy.accounting import Law, Step
from kernelease.privacy.calibration import Calibration
from kernelease.privacy.sensitivity import Neighbours
from kernelease.relational.schema_of_tables import Tables
from kernelease.table.columns.column import Column
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema

# ---- For other tools: Frictionless data package, Croissant, deployments registry.


FORMAT = 2  # of every document that is read again
_FRICTIONLESS = {"int64": "integer", "double": "number", "bool": "boolean", "date32[day]": "date", "string": "string"}
_CROISSANT = {"int64": "sc:Integer", "double": "sc:Float", "bool": "sc:Boolean", "date32[day]": "sc:Date"}


def json_bytes(value: Any) -> bytes:
    """JSON as it is written to bundles: indented, keys in the order given, one line feed at the end."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def domain_document(domain: Domain) -> bytes | None:
    """schema.json: all declarations, of one table or of several; None where nothing is declared."""
    return None if domain.declarations is None else json_bytes({"format": FORMAT, **domain.declarations})


def table_resources(tables: Tables, rows: Mapping[str, tuple[pa.Schema, bytes]]) -> list[dict[str, Any]]:
    """The rows of several tables as resources of a data package, with their keys."""
    resources = []
    for table in tables.tables:
        keys: dict[str, Any] = {} if table.key is None else {"primaryKey": table.key}
        if table.parent is not None:
            refers = ((table.foreign_key, table.parent), *table.references)
            keys["foreignKeys"] = [
                {"fields": column, "reference": {"resource": other, "fields": tables.table(other).key}}
                for column, other in refers
            ]
        resources.append(resource(table.name, rows_file(table.name), *rows[table.name], keys))
    return resources


def resource(
    name: str, path: str, schema: pa.Schema, data: bytes, keys: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """A file of rows in a data package."""
    fields = [
        {"name": field.name, "type": _FRICTIONLESS.get(str(field.type), "datetime" if _is_time(field) else "string")}
        for field in schema
    ]
    return {
        "name": name,
        "path": path,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "bytes": len(data),
        "hash": f"sha256:{hashlib.sha256(data).hexdigest()}",
        "schema": {"fields": fields, **keys},
    }


def data_package(name: str, headline: str, resources: list[dict[str, Any]]) -> bytes:
    """datapackage.json (Frictionless Data Package)."""
    return json_bytes(
        {
            "profile": "data-package",
            "name": _slug(name),
            "title": f"Synthetic rows in place of {name}",
            "description": headline,
            "resources": resources,
        }
    )


def croissant(name: str, headline: str, files: Sequence[tuple[str, str, pa.Schema, bytes]]) -> bytes:
    """croissant.json (MLCommons Croissant 1.0): of each table its name, file, types and bytes."""
    return json_bytes(
        {
            "@context": _CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            "name": _slug(name),
            "description": f"Synthetic rows in place of {name}. {headline}.",
            "distribution": [
                {
                    "@type": "cr:FileObject",
                    "@id": file,
                    "name": file,
                    "contentUrl": file,
                    "encodingFormat": "application/x-parquet",
                    "sha256": hashlib.sha256(data).hexdigest(),
                }
                for _, file, _, data in files
            ],
            "recordSet": [
                {
                    "@type": "cr:RecordSet",
                    "@id": table,
                    "name": table,
                    "field": [_croissant_field(field, table, file) for field in schema],
                }
                for table, file, schema, _ in files
            ],
        }
    )


def registry_record(name: str, certificate: Certificate) -> bytes:
    """registry.yaml: what a registry of differential-privacy deployments asks for. JSON strings are YAML strings."""
    entries: list[tuple[str, Any]] = [
        ("name", name),
        ("statement", certificate.headline),
        ("flavour", "pure differential privacy" if certificate.delta == 0 else "approximate differential privacy"),
        ("epsilon", certificate.epsilon),
        ("delta", certificate.delta),
        ("gaussian_dp_mu", certificate.mu),
        ("neighbours", certificate.neighbours.value),
        ("unit_of_privacy", certificate.unit),
        ("release_type", "static, one release"),
        ("data_product", "synthetic rows"),
        ("mechanism", ", ".join(sorted({f"discrete {step.law.value}" for step in certificate.steps}))),
        ("model", "central"),
        ("accounting", "Gaussian differential privacy, with the discreteness of the noise charged to delta"),
        ("software", f"kernelease {certificate.version}"),
        ("ledger", str(certificate.entry)),
        ("ledger_mu_squared", certificate.entry.spent.mu_squared),
        ("ledger_delta", certificate.entry.spent.delta_zero),
        ("ledger_discreteness", certificate.entry.spent.tau),
    ]
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entries]
    lines += ["not_promised:", *(f"  - {json.dumps(item, ensure_ascii=False)}" for item in NOT_PROMISED)]
    return ("\n".join(lines) + "\n").encode()


def _croissant_field(field: pa.Field, table: str, file: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{field.name}",
        "name": field.name,
        "dataType": _CROISSANT.get(str(field.type), "sc:DateTime" if _is_time(field) else "sc:Text"),
        "source": {"fileObject": {"@id": file}, "extract": {"column": field.name}},
    }


def _is_time(field: pa.Field) -> bool:
    return bool(pa.types.is_timestamp(field.type))


def _slug(name: str) -> str:
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name.lower())
    return kept.strip("-") or "table"


_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "recordSet": "cr:recordSet",
    "field": "cr:field",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "source": "cr:source",
    "extract": "cr:extract",
    "column": "cr:column",
    "fileObject": "cr:fileObject",
}


# ---- datasheet.md: what a reader should know about a release before relying on it.
#
# It follows what NIST SP 800-226 (Guidelines for Evaluating Differential Privacy Guarantees) asks a publisher to
# state, from the guarantee down to what the guarantee rests on. All of it comes from the certificate, the schema and
# the noisy measurements, which are in the bundle too: whoever has those can write the same bytes again, and `verify`
# does.


NAME = "datasheet.md"
_SPECIAL = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_[]<>#|~&"} | {"\n": " ", "\r": " "})
_FORMULAS = {
    Calibration.ANALYTIC: "the analytic Gaussian mechanism (Balle and Wang, 2018)",
    Calibration.CLASSIC: "the classic formula, sqrt(2 ln(1.25/delta)) / epsilon",
}

Lines: TypeAlias = Iterator[str]


def datasheet(measurements: Measurements) -> bytes:
    """The sheet as Markdown."""
    certificate, schema = measurements.certificate, measurements.schema
    lines = [
        f"# Data sheet: synthetic rows in place of {_plain(measurements.domain.name)}",
        "",
        f"**{certificate.headline}.**" if certificate.private else f"**{certificate.headline}**",
        *_section("Guarantee", _guarantee(certificate)),
        *_section("Who is protected", _unit(certificate, measurements.domain)),
        *_section("How it was made", _mechanism(certificate)),
        *_section("Which data went in", _data(certificate, measurements.domain)),
        *_section("How accurate it is", _utility(measurements)),
        *_section("Hazards", _hazards(certificate, schema)),
        *_section("Not promised", (f"- {item}" for item in NOT_PROMISED)),
        *_section("What the guarantee rests on", _ground(certificate)),
    ]
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _section(title: str, lines: Iterator[str]) -> Lines:
    yield from ("", f"## {title}", "")
    yield from lines


def _guarantee(certificate: Certificate) -> Lines:
    if not certificate.private:
        yield "None: the noise came from a seed, so that an experiment can be repeated. Do not publish this."
        return
    yield from ("| | |", "| --- | --- |")
    yield f"| definition | {'pure' if certificate.delta == 0 else 'approximate'} differential privacy, central model |"
    yield f"| epsilon | {certificate.epsilon:g} |"
    yield f"| delta | {certificate.delta:g} |"
    yield f"| neighbouring tables | {certificate.neighbours.value} |"
    if certificate.mu > 0:
        yield f"| Gaussian differential privacy, mu | {certificate.mu:.4g} |"
    yield f"| ledger | {_plain(str(certificate.entry))} |"
    yield ""
    for rate, power in certificate.attacker.items():
        yield (
            f"- Whoever knows all other {certificate.one}s, and accuses wrongly in {rate:.0%} of cases, recognises a "
            f"given {certificate.one} in at most {power:.3g} of cases."
        )


def _unit(certificate: Certificate, domain: Domain) -> Lines:
    schema = domain.schema
    yield f"The unit of protection is {_plain(certificate.unit)}."
    if domain.several:
        yield "Records that refer to nobody were left out, and so were those beyond these numbers of one parent: "
        yield "; ".join(f"{most} {_plain(name)}" for name, most in domain.caps.items()) + "."
    if schema is not None and schema.unit is not None:
        yield f"Of a person with more rows than that, the others were left out. Rows without a {_plain(schema.unit)}: "
        yield f"{'dropped' if schema.rows_without_unit == 'drop' else 'counted as one person'}."
        yield "Every person counts once, as the average of their rows: shares and means are over persons, and a "
        yield "synthetic row is one of a person."
    yield {
        Neighbours.REPLACE_ONE: f"Their number, {certificate.rows:,.0f}, is public and not protected.",
        Neighbours.ADD_REMOVE: "Their number is protected too; where one is stated, it holds noise.",
    }[certificate.neighbours]
    if certificate.published_rows:
        yield f"The {certificate.published_rows:,} rows that were published before have no guarantee."


def _mechanism(certificate: Certificate) -> Lines:
    yield f"- Method: {_plain(certificate.settings)}."
    if certificate.kernel is not None:
        yield f"- Kernel: {_plain(certificate.kernel)}."
    yield from (f"- {_plain(choice)}." for choice in certificate.choices)
    for law in Law:
        steps = [step for step in certificate.steps if step.law is law]
        if steps:
            yield f"- {_steps(law, steps)}"
    if any(step.law is Law.GAUSSIAN for step in certificate.steps):
        formula = _FORMULAS[certificate.calibration]
        yield f"- The scale of Gaussian noise comes from {formula}; its grid is charged to delta."
    yield "- Everything after the noise (fitting, drawing rows) saw noisy numbers only, and costs nothing."
    yield f"- Public seed: {certificate.seed}. It had no part in the noise."
    yield f"- Software: kernelease {_plain(certificate.version)}."


def _steps(law: Law, steps: list[Step]) -> str:
    numbers = sum(step.coordinates for step in steps)
    ratios = sorted(step.scale / step.sensitivity for step in steps)
    spread = f"{ratios[0]:.4g}" if ratios[0] == ratios[-1] else f"from {ratios[0]:.4g} to {ratios[-1]:.4g}"
    what = "selections among" if law is Law.EXPONENTIAL else "measurements of"
    return (
        f"{len(steps):,} {what} {numbers:,} integers in all, with discrete {law.value} noise; its scale is {spread} "
        "times the sensitivity (each step is in certificate.json)."
    )


def _data(certificate: Certificate, domain: Domain) -> Lines:
    schema = domain.schema
    if schema is None:
        yield "An array of rows without a declared schema. The kernel and its parameters came from the publisher."
        return
    yield f"Columns, as the publisher declared them. Bounds and values were {_plain(certificate.domain)}: that is the"
    yield "publisher's word."
    yield from ("", "| column | type | declared | NULL |", "| --- | --- | --- | --- |")
    yield from (_column(column) for column in schema)
    yield from _structure(schema)
    yield from (
        "",
        f"All of it is in schema.json, whose SHA-256 is {hashlib.sha256(domain_document(domain) or b'').hexdigest()}.",
    )
    if domain.rules:
        rules = "; ".join(map(_plain, domain.rules))
        yield from ("", f"Every synthetic row keeps these rules: {rules}.")


def _structure(schema: Schema) -> Lines:
    """Declared dependences between columns: they were not measured, and hold in every row."""
    if not schema.structure.made:
        return
    yield from ("", "These hold in every synthetic row by construction. They were not measured, and cost nothing:", "")
    yield from (f"- {_plain(one.name)} ({one.type}) is {_plain(one.in_words)}." for one in schema.derived)
    for one in schema.declared:
        if one.null_when is not None:
            yield f"- {_plain(one.name)} is NULL where {_plain(one.null_when)}."


def _column(column: Column) -> str:
    low, high = getattr(column, "min", None), getattr(column, "max", None)
    within = f"{column.size} values" if low is None or high is None else f"{low} to {high}, {column.size} cells"
    return f"| {_plain(column.name)} | {column.tag} | {within} | {'yes' if column.nullable else 'no'} |"


def _utility(measurements: Measurements) -> Lines:
    for notice in measurements.notices:
        yield from (f"**{_plain(notice)}**", "")
    yield from measurements.measured.accuracy.split("\n")
    yield "measurements.json holds what was measured: intervals come from it, and can't come from the rows alone."
    if measurements.schema is not None:
        yield "Synthetic rows follow what was measured. What was not measured, such as a rare joint event, is a guess."


def _hazards(certificate: Certificate, schema: Schema | None) -> Lines:
    yield "- Budgets add up: another release about the same persons weakens both, counted or not."
    yield "- Small groups, and so minorities, are distorted more than large ones, in proportion."
    yield "- A synthetic row is nobody. Do not look persons up in it, nor decide on a person by it."
    if schema is not None:
        yield "- Values beyond the declared bounds were moved to them, and undeclared ones to a declared one."
        yield "- Intervals must allow for the noise: those of a program that takes the rows for a sample are too short."
    if certificate.epsilon > 10:
        yield f"- An epsilon of {certificate.epsilon:g} is large: the guarantee is weak."
    if certificate.delta * certificate.rows >= 1:
        yield "- Delta is not below one over the number of rows: the guarantee may fail for some row outright."


def _ground(certificate: Certificate) -> Lines:
    yield "- The publisher held the private rows in the clear: whoever has that machine needs no release."
    yield (
        "- Noise came from the operating system of that machine."
        if certificate.private
        else "- Noise was reproducible."
    )
    yield "- What is protected was computed in integers, so that rounding of floats can't leak."
    yield (
        "- No ledger was kept: what else is published about the same people is not counted."
        if certificate.entry.ledger is None
        else "- The ledger was charged before noise was drawn, and every release about these persons is on it."
    )
    yield "- Neither that noise was drawn nor what the ledger says can be seen in a bundle. `kernelease verify` shows"
    yield "  that its numbers give the stated epsilon and delta, that rows keep the schema, and that no file changed."


def _plain(text: str) -> str:
    r"""Text that the publisher chose, so that it can't end a table's cell or begin a heading or a link.

    >>> _plain("a|b\n# <i>")
    'a\\|b \\# \\<i\\>'
    """
    return text.translate(_SPECIAL)
