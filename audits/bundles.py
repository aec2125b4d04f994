"""Bundles that an adversary made, as an analyst opens them: refused, or caught by `verify`, within bounds."""

from __future__ import annotations

import base64
import copy
import json
import struct
import tempfile
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audits.case import Case, Effort, Verdict
from audits.targets import SMALL, honest_files
from audits.tracer import memory_disk
from kernelease.answers.release import load
from kernelease.bundle.container import read_bundle, write_bundle
from kernelease.bundle.saving import checked_files
from kernelease.bundle.verify import verify
from kernelease.errors import BundleError, KerneleaseError

MOST_MEMORY = 8 * SMALL.total_bytes
MOST_SECONDS = 10.0
TWIN_ATTACKS = 100
HUGE: tuple[Any, ...] = (
    0,
    -1,
    2**63,
    10**300,
    1.7e308,
    5e-324,
    float("nan"),
    {"tag": "float", "value": "inf"},
    "9" * 400,
)
ODD: tuple[Any, ...] = (
    None,
    True,
    "",
    "\\ud800",
    "x" * 10_000,
    [],
    {},
    [[]],
    {"tag": "os.system", "value": "true"},
    {"tag": []},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A bundle that should not pass, as a function that writes it."""

    name: str
    write: Callable[[Path], Path]


# ------------------------------------------------------------------------------------------------------- as containers


def _member(name: bytes, data: bytes, *, claimed: int | None = None, attributes: int = 0) -> tuple[bytes, bytes]:
    """A deflated member of a zip: its local header with data, and its entry in the directory, which may lie."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(data) + packer.flush()
    size = len(data) if claimed is None else claimed
    fields = struct.pack("<5H3L2H", 20, 0, 8, 0, 0x21, zlib.crc32(data), len(packed), size, len(name), 0)
    return b"PK\3\4" + fields + name + packed, b"PK\1\2\x14\3" + fields + struct.pack("<3HL", 0, 0, 0, attributes)


def raw_zip(*members: tuple[bytes, bytes, bytes]) -> bytes:
    """A zip made by hand of (name, local part, directory entry)."""
    body, directory = b"", b""
    for name, local, entry in members:
        directory += entry + struct.pack("<L", len(body)) + name
        body += local
    count = len(members)
    return body + directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)


def _zip_of(*names: bytes, data: bytes = b"x", **lies: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "bundle.zip"
        path.write_bytes(raw_zip(*((name, *_member(name, data, **lies)) for name in names)))
        return path

    return write


def _linked(folder: Path) -> Path:
    """A folder in which a file is a link to one of the reader's own."""
    (folder / "secret").write_text("the reader's own")
    path = write_bundle(
        folder / "bundle", {name: data for name, data in honest_files().items() if name != "registry.yaml"}
    )
    (path / "registry.yaml").symlink_to("../secret")
    return path


def containers() -> Iterator[Attack]:
    """Names that leave the folder, links, bombs, names that come twice."""
    for name in (b"../evil", b"/etc/passwd", b"..\\evil", b"C:\\evil", b"data.parquet\0.exe", b"DATA.PARQUET", b"a/b"):
        yield Attack(name=f"zip slip {name!r}", write=_zip_of(b"certificate.json", name))
    yield Attack(name="a link in a zip", write=_zip_of(b"registry.yaml", attributes=0o120777 << 16))
    yield Attack(name="a link in a folder", write=_linked)
    yield Attack(name="a name twice", write=_zip_of(b"certificate.json", b"certificate.json"))
    yield Attack(name="a bomb", write=_zip_of(b"data.parquet", data=bytes(200 << 20)))
    yield Attack(name="a bomb that lies", write=_zip_of(b"data.parquet", data=bytes(200 << 20), claimed=5))
    yield Attack(name="many files", write=_zip_of(*[b"certificate.json"] * 2000))


# -------------------------------------------------------------------------------------------------------- as documents


def _with(name: str, change: Callable[[Any], Any]) -> Callable[[Path], Path]:
    """The honest bundle with one document changed, and sums that fit: a publisher who lies."""

    def write(folder: Path) -> Path:
        document = change(copy.deepcopy(json.loads(honest_files()[name])))
        return write_bundle(folder / "bundle", {**honest_files(), name: json.dumps(document).encode()})

    return write


def _set(*path: Any, value: Any) -> Callable[[Any], Any]:
    def change(document: Any) -> Any:
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return document

    return change


def _numbers(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a document, of lists the first."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield (*path, key)
            yield from _numbers(value, (*path, key))
    elif isinstance(document, list) and document:
        yield (*path, 0)
        yield from _numbers(document[0], (*path, 0))


def lies() -> Iterator[Attack]:
    """A guarantee that the noise does not give, said with sums that fit. `verify` must say so."""
    for field, value in (("epsilon", 0.1), ("delta", 1e-12), ("private", False), ("mu", 0.01), ("steps", [])):
        yield Attack(
            name=f"a certificate with {field} = {value}", write=_with("certificate.json", _set(field, value=value))
        )
    for field, value in (("sensitivity", 0.1), ("scale", 1000.0), ("coordinates", 1)):
        change = _set("steps", 0, field, value=value)
        yield Attack(name=f"a step with {field} = {value}", write=_with("certificate.json", change))
    smaller = _set("measured", "blocks", 0, "measurement", "step", "scale", value=0.001)
    yield Attack(name="less noise than stated", write=_with("measurements.json", smaller))
    yield Attack(name="a column beyond its bounds", write=_with("schema.json", _set("columns", 0, "max", value=5)))
    yield Attack(name="a data sheet that promises more", write=_tampered("datasheet.md", b"epsilon", b"epsilon 0"))
    yield Attack(name="a table of billions of cells", write=_with("measurements.json", _wide))


def _wide(document: Any) -> Any:
    data = base64.b64encode(struct.pack("<100q", *range(100))).decode()
    block = document["measured"]["blocks"][0]["block"]
    block["groups"] = [{"tag": "array", "dtype": "int64", "shape": [100], "data": data}] * 2
    block["columns"] = [0, 1]
    return document


def _tampered(name: str, old: bytes, new: bytes) -> Callable[[Path], Path]:
    return lambda folder: write_bundle(
        folder / "bundle", {**honest_files(), name: honest_files()[name].replace(old, new)}
    )


def _unsealed(folder: Path) -> Path:
    """One byte of a file changed after the sums were made."""
    path = write_bundle(folder / "bundle", honest_files())
    data = bytearray((path / "data.parquet").read_bytes())
    data[len(data) // 2] ^= 1
    (path / "data.parquet").write_bytes(data)
    return path


def documents(every: int) -> Iterator[Attack]:
    """Every place of every document in turn, with every odd value (each `every`-th of these)."""
    places = [
        (name, place, value)
        for name in ("certificate.json", "measurements.json", "schema.json", "fit.json")
        for place in _numbers(json.loads(honest_files()[name]))
        for value in (*HUGE, *ODD)
    ]
    for name, place, value in places[::every]:
        words = f"{name}: {'.'.join(map(str, place))} = {str(value)[:30]}"
        yield Attack(name=words, write=_with(name, _set(*place, value=value)))


# ------------------------------------------------------------------------------------------------------------ verdicts


def passes(path: Path) -> bool:
    """Whether an analyst would take the bundle: it verifies and loads."""
    sound = all(finding.holds for finding in verify(path, limits=SMALL))
    with suppress(KerneleaseError):
        load(path, limits=SMALL)
        return sound
    return False


def _problem(attack: Attack, opens: Callable[[Path], bool], *, may_pass: bool) -> str:
    """What is wrong with how a bundle was met; nothing if it was refused, within bounds."""
    with tempfile.TemporaryDirectory(dir=memory_disk()) as folder:
        path = attack.write(Path(folder))
        before = sorted(Path(folder).rglob("*"))
        tracemalloc.start()
        start = time.perf_counter()
        try:
            taken = opens(path)
            peak, seconds = tracemalloc.get_traced_memory()[1], time.perf_counter() - start
        except Exception as error:  # noqa: BLE001  # an analyst should see none
            return f"{attack.name}: {type(error).__name__}"
        finally:
            tracemalloc.stop()
        if sorted(Path(folder).rglob("*")) != before:
            return f"{attack.name}: it wrote files"
    rules = {
        "it passed": taken and not may_pass,
        "too much memory": peak > MOST_MEMORY,
        "too slow": seconds > MOST_SECONDS,
    }
    return next((f"{attack.name}: {words}" for words, broken in rules.items() if broken), "")


def _all_pass(honest: list[dict[str, bytes]], opens: Callable[[Path], bool]) -> bool:
    """Who refuses everything refuses attacks too, and is of no use."""
    with tempfile.TemporaryDirectory() as folder:
        written = [write_bundle(Path(folder, f"bundle-{number}"), files) for number, files in enumerate(honest)]
        return all(map(opens, written))


def verdict(
    attacks: list[Attack],
    twin: Callable[[Path], bool],
    name: str,
    *,
    may_pass: bool = False,
    opens: Callable[[Path], bool] = passes,
    honest: list[dict[str, bytes]] | None = None,
) -> Verdict:
    """How the bundles were met by those who check, `opens`, and by the twin; honest ones must pass."""
    met = "refused or harmless" if may_pass else "refused"
    wrong = [words for attack in attacks if (words := _problem(attack, opens, may_pass=may_pass))]
    some = attacks[:: max(1, len(attacks) // TWIN_ATTACKS)]
    fooled = [words for attack in some if (words := _problem(attack, twin, may_pass=may_pass))]
    return Verdict(
        trials=len(attacks),
        holds=not wrong and _all_pass([dict(honest_files())] if honest is None else honest, opens),
        measured="; ".join(wrong[:3]) or f"the honest one passes, these are {met}; memory and time stay within bounds",
        twin=f"{name}: {len(fooled)} of {len(some)} fool it",
        twin_caught=bool(fooled),
    )


def _extracts(path: Path) -> bool:
    """The twin of a careful reader: unpack everything, then look."""
    if path.is_dir():
        return all(item.read_bytes() is not None for item in path.iterdir())
    with zipfile.ZipFile(path) as archive:
        archive.extractall(path.parent / "unpacked")
    return True


def _trusts(path: Path) -> bool:
    """The twin of `verify`: sums that fit are taken for truth."""
    with suppress(BundleError):
        return bool(checked_files(path, limits=SMALL))
    return False


def _untyped(path: Path) -> bool:
    """The twin of the codec: numbers are taken as they come, and computed with."""
    files = read_bundle(path, limits=SMALL)
    certificate, measurements = (json.loads(files[name]) for name in ("certificate.json", "measurements.json"))
    measured = measurements["measured"]
    _ = [step["sensitivity"] / step["scale"] for step in certificate["steps"]]
    _ = [len(block["measurement"]["integers"]["values"]) / measured["rows"] for block in measured["blocks"]]
    return bool(certificate["epsilon"] > 0 and certificate["delta"] < 1 and json.loads(files["schema.json"])["columns"])


def hostile_containers(_: Effort) -> Verdict:
    """Zip slip, links, bombs."""
    return verdict(list(containers()), _extracts, "a reader that unpacks first")


def false_statements(_: Effort) -> Verdict:
    """Certificates, schemas and data sheets that say what the noise does not give, and a changed byte."""
    attacks = [*lies(), Attack(name="a byte changed", write=_unsealed)]
    return verdict(attacks, _trusts, "a check of the sums alone")


def odd_documents(effort: Effort) -> Verdict:
    """Every field of every document with every odd value: refused, or harmless, but no other error."""
    attacks = list(documents(1 if effort is Effort.FULL else 29))
    return verdict(attacks, _untyped, "a reader without declared types", may_pass=True)


CASES = (
    Case(
        name="hostile containers",
        kind="hostile",
        claim="Opening a bundle writes nothing, follows no link, and takes bounded memory and time.",
        run=hostile_containers,
    ),
    Case(
        name="false statements with fitting sums",
        kind="hostile",
        claim="`verify` recomputes the guarantee, so a certificate that promises more than the noise gives is caught.",
        run=false_statements,
    ),
    Case(
        name="odd values in every field of a bundle",
        kind="hostile",
        claim="No value in a bundle brings out an exception that is not a `KerneleaseError`.",
        run=odd_documents,
    ),
)
