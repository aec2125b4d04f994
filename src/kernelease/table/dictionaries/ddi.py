"""DDI-Codebook: the XML in which data archives describe surveys."""

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from kernelease.errors import ParameterError
from kernelease.strangers import DEEPEST
from kernelease.table.dictionaries.described import Described, bound


def read_ddi(text: str) -> dict[str, Described]:
    """The variables of a DDI-Codebook file, of any version: range, categories, format.

    >>> book = '<codeBook><dataDscr><var name="SEX"><catgry><catValu>1</catValu></catgry></var></dataDscr></codeBook>'
    >>> read_ddi(book)["SEX"].values
    ('1',)
    """
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        raise ParameterError("The DDI file declares entities or a document type, which are not read. Remove them.")
    try:
        root = ElementTree.fromstring(text, ElementTree.XMLParser(target=_Shallow()))
    except (ElementTree.ParseError, ValueError) as error:
        raise ParameterError(f"The DDI file is not valid XML: {error}. Export it again.") from None
    return {name: _described(item) for item in _all(root, "var") if (name := item.get("name"))}


class _Shallow(ElementTree.TreeBuilder):
    """A tree that refuses to grow deep: what looks for descendants in descendants takes the square of its depth."""

    _depth = 0

    def start(self, tag: Any, attrs: Any, /) -> Any:
        """One level deeper."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        return super().start(tag, attrs)

    def end(self, tag: Any, /) -> Any:
        """One level up."""
        self._depth -= 1
        return super().end(tag)


def _all(element: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    """The descendants of this name, whatever their namespace."""
    return (item for item in element.iter() if item.tag.rpartition("}")[2] == tag)


def _described(variable: ElementTree.Element) -> Described:
    kind = "number" if variable.get("intrvl") == "contin" else None
    form = next(_all(variable, "varFormat"), None)
    if form is not None and form.get("type") == "character":
        kind = "category"
    elif variable.get("dcml") == "0" or variable.get("intrvl") == "discrete":
        kind = "integer"
    values = [_text(item, "catValu") for item in _all(variable, "catgry") if item.get("missing") != "Y"]
    limits = next(_all(variable, "range"), None)
    low, high = (None, None) if limits is None else (limits.get("min"), limits.get("max"))
    missing = any(item.get("missing") == "Y" for item in _all(variable, "catgry"))
    return Described(
        type=kind or ("integer" if low is not None else None),
        min=bound(low, kind or "integer"),
        max=bound(high, kind or "integer"),
        values=tuple(dict.fromkeys(value for value in values if value)) if low is None else (),
        nullable=True if missing else None,
    )


def _text(element: ElementTree.Element, tag: str) -> str:
    found = next(_all(element, tag), None)
    return "" if found is None else (found.text or "").strip()
