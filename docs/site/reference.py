"""What the reference shows of the code: examples as code, the options of a release as the keywords that they are."""

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Put a fence around every example, from its first `>>>` to the next empty line: else it would be a quotation."""

    def on_object(self, *, obj: griffe.Object, **_others: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


class Options(griffe.Extension):
    """A function that takes an `Order` is called with its fields as keywords."""

    def on_function(self, *, func: griffe.Function, **_others: Any) -> None:
        """Change the last parameter of a function that was read."""
        if func.parameters and str(func.parameters[-1].annotation) == "Order" and func.decorators:
            func.parameters[-1].name = "options"
            func.parameters[-1].kind = griffe.ParameterKind.var_keyword


def fenced(text: str) -> str:
    """A docstring with its examples in fences.

    >>> fenced("A sum.\\n\\n>>> 1 + 1\\n2").splitlines()
    ['A sum.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    lines, inside = [], False
    for line in [*text.splitlines(), ""]:
        if inside != (begins := bool(line.strip()) and (inside or line.startswith(">>> "))):
            lines.append("```pycon" if begins else "```")
            inside = begins
        lines.append(line)
    return "\n".join(lines[:-1])
