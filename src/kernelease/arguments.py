"""What people write to order a release: each option once, and a path or a pair of numbers where an object is meant."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias, final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.errors import ParameterError
from kernelease.kernels.kernel import Kernel
from kernelease.ledgers import MemoryLedger, open_ledger
from kernelease.methods.method import Method
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import Subject
from kernelease.progress import Progress
from kernelease.relational.schema_of_tables import Tables, load_schema
from kernelease.table.schema import Schema

SchemaLike: TypeAlias = Schema | Tables | str | Path
PrivacyLike: TypeAlias = Privacy | tuple[float, float]
LedgerLike: TypeAlias = Ledger | str | Path


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The options of `release` and `measure`, each declared here alone; `ke.release` takes them as keywords.

    `privacy` may be a pair (epsilon, delta), `schema` and `ledger` paths of files (`LedgerFile.create` makes a ledger,
    with the cap that you choose). With a `schema` the data are a table; without one they are an array, and `kernel`
    says how alike two rows are: its lengthscale must come from public knowledge. `method` is how to describe the rows
    (None: the one that suits them); in its place, `target` names a column of a table that people will want to predict,
    and `analyses` what they will ask ("ill ~ age + arm", "mean income by region, sex"), beside those of the schema.
    `dataset` names an array's data set, as a ledger of it does; a table has its schema's name.

    With `labels` the array holds vectors of norm 1 (others are scaled to it), such as embeddings of texts or images,
    and a class for each, one of `classes`: name them all, since a list that is collected from private rows would give
    away whoever is alone in a class. `public` are vectors and labels that are known already, of a law like theirs.

    The budget is charged to `ledger` before any noise is drawn (None: a ledger in memory that allows this release
    alone). `seed` drives public randomness only; noise comes from the operating system unless `noise` says otherwise,
    and then the release is marked NOT PRIVATE.

    With `push_down` a database counts by itself and its rows never leave it. With `device="cuda"` sums over vectors run
    on a GPU, as they do without being told where the array lives on one: the same integers, sooner. `progress` None:
    bars where somebody may watch, on a terminal or in a notebook.

    With `out`, the measurements are written there before the fit begins, and the release in their place when it has
    ended; `key` signs both, and with `overwrite` they may replace an older bundle. What fails after the charge says
    what was spent, and where the measurements are: without `out`, they are saved in a temporary folder then.

    `rows` is how many to make, where rows are drawn. With `fast`, rows of a table are fitted coarsely, for a first
    look: the measurements are the same, and `fit` makes better ones of them. Both are for `release` alone.
    """

    privacy: PrivacyLike
    schema: SchemaLike | None = None
    kernel: Kernel | None = None
    labels: Any = None
    classes: Iterable[Hashable] | None = None
    public: tuple[Any, Any] | None = None
    method: Method | None = None
    target: str | None = None
    analyses: tuple[str, ...] | list[str] = ()
    ledger: LedgerLike | None = None
    dataset: str | None = None
    seed: int = 0
    noise: NoiseSource | None = None
    push_down: bool = False
    device: str | None = None
    rows: int | None = None
    fast: bool = False
    out: str | Path | None = None
    key: Ed25519PrivateKey | None = None
    overwrite: bool = False
    progress: Progress | None = None

    def keywords(self) -> dict[str, Any]:
        """The options as `ke.release` takes them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def chosen_method(self) -> Method | None:
        """The method, or the one that a target or analyses ask for; None where the data decide."""
        if self.target is None and not self.analyses:
            return self.method
        if self.target is not None and not isinstance(self.target, str):
            raise ParameterError(f"target must be the name of one column, got {type(self.target).__name__}.")
        if self.method is not None:
            what = "target" if self.target is not None else "analyses"
            raise ParameterError(
                f"{what}: give it to the method, Interactions({what}=…), where a method is given. One of the two."
            )
        from kernelease.methods.interactions.interactions import Interactions  # noqa: PLC0415  # a look needs none

        return Interactions(target=self.target, analyses=tuple(self.analyses))


def schema_of(given: SchemaLike) -> Schema:
    """The schema itself, or the one in a file."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, str | Path):
        return Schema.load(given)
    if isinstance(given, Tables):
        raise ParameterError("schema: is of several tables, and this is for one table alone.")
    raise ParameterError(f"schema must be a Schema or the path of its TOML file, got {type(given).__name__}.")


def declared_of(given: SchemaLike) -> Schema | Tables:
    """The schema itself, of one table or of several, or the one in a file."""
    if isinstance(given, Tables):
        return given
    return load_schema(given) if isinstance(given, str | Path) else schema_of(given)


def privacy_of(given: PrivacyLike) -> Privacy:
    """The promise itself, or (epsilon, delta). One number says too little: it would leave delta to chance.

    >>> privacy_of((1.0, 1e-6))
    Privacy(epsilon=1.0, delta=1e-06, neighbours=None, calibration=<Calibration.ANALYTIC: 'analytic'>)
    """
    unchecked: Any = given
    if isinstance(unchecked, Privacy):
        return unchecked
    if isinstance(unchecked, tuple) and len(unchecked) == 2 and all(_is_number(part) for part in unchecked):
        return Privacy(epsilon=float(unchecked[0]), delta=float(unchecked[1]))
    kind = type(unchecked).__name__
    if isinstance(unchecked, tuple) and len(unchecked) <= 2:
        kind = f"({', '.join(type(part).__name__ for part in unchecked)})"
    raise ParameterError(
        "privacy must be a Privacy, or a pair (epsilon, delta) as (1.0, 1e-6), "
        f"got {repr(unchecked) if _is_number(unchecked) else kind}."
    )


def ledger_of(given: LedgerLike | None, *, subject: Subject, promised: Privacy) -> Ledger:
    """The ledger itself, or the one in a file; for None, one in memory that allows what is `promised` and no more.

    A file must be there: its cap is for more than this one release.
    """
    if given is None:
        return MemoryLedger.for_one(promised, subject)
    if isinstance(given, str | Path):
        return open_ledger(given, subject=subject, promised=promised)
    return given


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
