"""Write the Python reference, a page for each room of the library: python -m docs.make_api. A test compares them.

A page lists its names with their first sentences, then each in full. Names are those that the front doors offer, so
that a new one appears by being offered; a name that no page has is an error.
"""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernelease as ke
from kernelease import arguments
from kernelease.answers import comparisons, forms, frames, modelled, questions, replicates, vectors

TARGET = Path(__file__).with_name("api")
_NO_SEARCH = "---\nsearch:\n  boost: 0.2\n---\n\n"  # words of a tutorial come before those of a signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the reference: some names, and what they are called in code."""

    file: str
    title: str
    about: str
    inside: str  # where a reader finds the names: `ke.methods`
    names: dict[str, Any]

    @property
    def text(self) -> str:
        """The page as it is written."""
        rows = [f"| {self._linked(name)} | {first_sentence(value)} |" for name, value in self.names.items()]
        parts = [
            f"{_NO_SEARCH}# {self.title}",
            self.about,
            "\n".join([f"| {self._inside} | |", "| --- | --- |", *rows]),
            *(f"::: {address(value)}" for value in self.names.values() if is_explained(value)),
        ]
        return "\n\n".join(parts) + "\n"

    def _linked(self, name: str) -> str:
        return f"[`{name}`][{address(self.names[name])}]" if is_explained(self.names[name]) else f"`{name}`"

    @property
    def _inside(self) -> str:
        return f"in `{self.inside}`" if self.inside else "name"


def is_explained(value: Any) -> bool:
    """Whether there is more to say about a value than its name: classes and functions have pages of their own words."""
    return inspect.isclass(value) or inspect.isfunction(value)


def address(value: Any) -> str:
    """Where a class or a function is defined.

    >>> address(ke.Subspace)
    'kernelease.methods.paper.Subspace'
    """
    return f"{value.__module__}.{value.__qualname__}"


def first_sentence(value: Any) -> str:
    """The first sentence of what is said about a value; of a plain one, the value.

    >>> first_sentence(3)
    '`3`'
    """
    if not is_explained(value):
        return f"`{value!r}`"
    said = " ".join((inspect.getdoc(value) or "").split("\n\n", maxsplit=1)[0].split())
    return said.split(". ", maxsplit=1)[0].removesuffix(".").replace("|", "\\|") + "."


def pages() -> tuple[Page, ...]:
    """All pages, in the order of the menu."""
    return (
        Page(
            file="releasing",
            title="Release, plan, look",
            about="What the owner of a table calls, and the options of `ke.release` and `ke.measure` in one place.",
            inside="ke",
            names=_top("release measure plan draft check Synthesizer") | {"arguments.Order": arguments.Order},
        ),
        Page(
            file="promises",
            title="Certificates, ledgers, noise",
            about="What is promised, who counts it, and how a stranger verifies it.",
            inside="ke",
            names=_top("Certificate Measurements verify LedgerFile MemoryLedger SeededNoise PublicSeed"),
        ),
        Page(
            file="asking",
            title="A release, and what it is asked",
            about="Each question here can be asked of a release, and of `release.where(…)` and `release.by(…)`.",
            inside="",
            names=_top("Release load save pool")
            | _classes(questions.Questions, questions.ShortForms, modelled.ModelQuestions, frames.Frames)
            | _classes(comparisons.Comparisons, forms.Forms, replicates.Replicates)
            | _classes(vectors.Vectors, vectors.VectorEstimate)
            | _classes(vectors.RatioEstimate, vectors.PrincipalAxes, vectors.Clusters),
        ),
        _room("analysis", "Estimates and models", "What answers are, and what can be done with them."),
        _tests(),
        _room("table", "Columns and schemas", "What a table is: everything that is declared before rows are read."),
        _room("privacy", "Accounting and sensitivity", "What noise costs, and how much is needed."),
        _room("methods", "Methods", "What is measured, and how rows are made of it."),
        _room("fit", "Fits and points", "From noisy numbers to rows: solvers, weights, sources of points."),
        _room("features", "Feature maps", "What turns a row into the numbers that are averaged."),
        _room("kernels", "Kernels", "What it means for two rows to be alike."),
        _room("errors", "Errors", "All that can be caught. Each says what was expected, what came and what to do."),
    )


def _top(names: str) -> dict[str, Any]:
    return {name: getattr(ke, name) for name in names.split()}


def _classes(*classes: type) -> dict[str, Any]:
    return {one.__name__: one for one in classes}


def _room(room: str, title: str, about: str) -> Page:
    offered = getattr(ke, room)
    names = {name: getattr(offered, name) for name in sorted(offered.__all__)}
    if room == "errors":  # which has helpers beside them
        names = {name: value for name, value in names.items() if inspect.isclass(value)}
    return Page(file=room, title=title, about=about, inside=f"ke.{room}", names=names)


def _tests() -> Page:
    return Page(
        file="private-tests",
        title="Private tests",
        about="Tests on the private rows themselves, where a release is not what is wanted.",
        inside="ke",
        names=_top("private_independence_test private_two_sample_test"),
    )


def index(written: tuple[Page, ...]) -> str:
    """The first page: what `ke` offers, each name linked to the page that explains it."""
    lines = [f"- [{page.title}]({page.file}.md): {_some(page)}" for page in written]
    about = (
        "What `import kernelease as ke` gives, a page for each room. Every part can be used on its own; modules are "
        "listed in [architecture](../architecture.md)."
    )
    return "\n\n".join([f"{_NO_SEARCH}# Python reference", about, "\n".join(lines)]) + "\n"


def _some(page: Page, most: int = 8) -> str:
    names = [f"`{name}`" for name in page.names]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def files() -> dict[str, str]:
    """All files of the folder, by name."""
    written = pages()
    return {"index.md": index(written)} | {f"{page.file}.md": page.text for page in written}


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for name, text in files().items():
        (TARGET / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(files())} pages into {TARGET.name}")
