"""`kernelease agreement`: where synthetic rows and estimates disagree."""

from kernelease.cli.options import Bundle, Json, Quiet
from kernelease.cli.screen import Screen, line


def agreement(bundle: Bundle, as_json: Json = False, quiet: Quiet = False) -> None:
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
    Screen(json=as_json, quiet=quiet).result(result, *(line(text) for text in str(found).splitlines()))
