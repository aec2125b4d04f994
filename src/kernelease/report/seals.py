"""The bundle's own documents, so that the page can check them by itself, and what `verify` says of them."""

import base64
from collections.abc import Mapping
from typing import Any

from kernelease.errors import SigningError
from kernelease.release.signing import fingerprint, parse_public_key, short_fingerprint
from kernelease.release.sums import PUBLIC_KEY, SIGNATURE, SUMS
from kernelease.release.verify import findings, on_trust

_BY_HAND = frozenset({"data.parquet", "measurements.json", "report.html"})  # too large to carry: the reader picks them


def seal_record(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Documents, sums and signature as bytes in base64: what is signed is bytes, and no reader may mend them."""
    carried = {name: base64.b64encode(data).decode() for name, data in files.items() if name not in _BY_HAND}
    found = findings(dict(files))
    return {
        "documents": carried,
        "names": {"sums": SUMS, "signature": SIGNATURE, "key": PUBLIC_KEY},
        "key": _key(files),
        "by_hand": sorted(set(files) & _BY_HAND),
        "findings": [{"check": item.check, "holds": item.holds, "detail": item.detail} for item in found],
        "on_trust": list(on_trust(found, refit=False)),
    }


def _key(files: Mapping[str, bytes]) -> str | None:
    try:
        return short_fingerprint(fingerprint(parse_public_key(files[PUBLIC_KEY])))
    except (KeyError, SigningError):
        return None
