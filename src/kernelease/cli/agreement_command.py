"""`kernelease agreement`: where synthetic rows and estimates disagree."""

from kernelease.cli.options import Bundle
from kernelease.cli.screen import Screen, line


def agreement(bundle: Bundle, *, screen: Screen) -> None:
    """Show where the rows of a release and its own estimates disagree by more than the noise.

    Means of numbers, and of each column and pair the cell that is farthest off. Where they disagree, the estimates are
    to be trusted: they come from the measurements alone.
    """
    from kernelease.answers.release import load_table

    found = load_table(bundle).agreement()
    fields = [
        {"what": item.what, "rows": item.rows, "estimate": item.estimate, "z": item.z} for item in found.disagreements
    ]
    result = {"compared": found.tests, "limit": found.limit, "disagreements": fields}
    screen.result(result, *(line(text) for text in str(found).splitlines()))
