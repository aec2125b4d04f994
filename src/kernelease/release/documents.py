"""The files of a bundle that other tools read: Frictionless data package, Croissant, deployments registry."""

import hashlib
import json
from typing import Any

import pyarrow as pa

from kernelease.release.certificate import NOT_PROMISED, Certificate
from kernelease.table.schema import Schema

FORMAT = 2  # of every document that is read again
_FRICTIONLESS = {"int64": "integer", "double": "number", "bool": "boolean", "date32[day]": "date", "string": "string"}
_CROISSANT = {"int64": "sc:Integer", "double": "sc:Float", "bool": "sc:Boolean", "date32[day]": "sc:Date"}


def json_bytes(value: Any) -> bytes:
    """JSON as it is written to bundles: indented, keys in the order given, one line feed at the end."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def schema_document(schema: Schema) -> bytes:
    """schema.json: all declarations."""
    return json_bytes({"format": FORMAT, **schema.to_dict()})


def data_package(name: str, schema: pa.Schema, data: bytes, certificate: Certificate) -> bytes:
    """datapackage.json (Frictionless Data Package)."""
    fields = [
        {"name": field.name, "type": _FRICTIONLESS.get(str(field.type), "datetime" if _is_time(field) else "string")}
        for field in schema
    ]
    resource = {
        "name": "data",
        "path": "data.parquet",
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "bytes": len(data),
        "hash": f"sha256:{hashlib.sha256(data).hexdigest()}",
        "schema": {"fields": fields},
    }
    return json_bytes(
        {
            "profile": "data-package",
            "name": _slug(name),
            "title": f"Synthetic rows in place of {name}",
            "description": certificate.headline,
            "resources": [resource],
        }
    )


def croissant(name: str, schema: pa.Schema, data: bytes, certificate: Certificate) -> bytes:
    """croissant.json (MLCommons Croissant 1.0)."""
    return json_bytes(
        {
            "@context": _CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            "name": _slug(name),
            "description": f"Synthetic rows in place of {name}. {certificate.headline}.",
            "distribution": [
                {
                    "@type": "cr:FileObject",
                    "@id": "data.parquet",
                    "name": "data.parquet",
                    "contentUrl": "data.parquet",
                    "encodingFormat": "application/x-parquet",
                    "sha256": hashlib.sha256(data).hexdigest(),
                }
            ],
            "recordSet": [
                {
                    "@type": "cr:RecordSet",
                    "@id": "rows",
                    "name": "rows",
                    "field": [_croissant_field(field) for field in schema],
                }
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


def _croissant_field(field: pa.Field) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"rows/{field.name}",
        "name": field.name,
        "dataType": _CROISSANT.get(str(field.type), "sc:DateTime" if _is_time(field) else "sc:Text"),
        "source": {"fileObject": {"@id": "data.parquet"}, "extract": {"column": field.name}},
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
