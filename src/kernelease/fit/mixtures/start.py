"""Where a mixture starts: rows drawn along the strongest pairs, each blurred with the single columns.

Components that start as plain blurs of the single columns must first learn which values go together, and columns that
nearly determine each other take them hundreds of steps. Rows of a tree model (Chow & Liu 1968) know it from the start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.adam import Single
from kernelease.measured.block import within
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks, without_means

# research: Tables: one constant at a time. Of a component's mass on its row; the rest as the single columns have it
SHARP = 0.8
# research: Tables: one constant at a time. Of logits: two components with the same row must be able to part
JITTER = 0.1
VISIBLE = 1.5  # research: Tables: one constant at a time. Standard deviations: a count below may be noise alone


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """What a block says of two columns: how strongly they depend on each other, and how often groups go together."""

    strength: float
    shares: Floats  # (groups of one, groups of the other), positive
    groups: tuple[Integers, Integers]  # of each column's cells

    def turned(self) -> "_Link":
        return _Link(strength=self.strength, shares=self.shares.T, groups=self.groups[::-1])


def blurred_rows(
    noisy: NoisyBlocks, prior: Sequence[Floats], cells: Sequence[Integers], count: int, generator: np.random.Generator
) -> Single:
    """Logits (M, C) of `count` components around rows of a tree model. `prior[i]` is over the cells of column i."""
    parts = []
    for distribution, row in zip(prior, _rows(_links(noisy, prior, cells), prior, count, generator), strict=True):
        q = np.repeat((1.0 - SHARP) * distribution[None], count, axis=0)
        q[np.arange(count), row] += SHARP
        parts.append(np.log(q))
    logits = np.concatenate(parts, axis=1)
    return (logits + generator.normal(0.0, JITTER, logits.shape)).astype(np.float32)


def _links(noisy: NoisyBlocks, prior: Sequence[Floats], cells: Sequence[Integers]) -> dict[tuple[int, int], _Link]:
    """The strongest link of each pair of columns that some block holds, both ways round."""
    links: dict[tuple[int, int], _Link] = {}
    for block in noisy.blocks:
        if len(block.block.columns) > 1:
            first, second = block.block.columns[:2]
            link = _link(block, noisy.rows, prior, cells)
            if (first, second) not in links or links[first, second].strength < link.strength:
                links[first, second], links[second, first] = link, link.turned()
    return links


def _link(block: NoisyBlock, rows: float, prior: Sequence[Floats], cells: Sequence[Integers]) -> _Link:
    """Σ (share − product)² / product, less what noise alone adds to it: about χ² of dependence per row."""
    first, second = block.block.columns[:2]
    groups = within(cells[first], block.block.groups[0]), within(cells[second], block.block.groups[1])
    shares = block.values.reshape(*block.block.shape[:2], -1).sum(axis=2) / rows
    noise = block.deviation * np.sqrt(block.block.cells / shares.size) / rows
    sums = np.bincount(groups[0], prior[first]), np.bincount(groups[1], prior[second])
    product = np.outer(*sums).astype(np.float64)
    if block.block.centred:  # what it does not say is as in the single columns
        shares = shares + product - without_means(product)
    scale = np.maximum(product, noise)
    strength = float((((shares - product) ** 2 - noise**2) / scale).sum())
    hidden = 0.2 * np.minimum(product, noise) + 1e-9  # a count that can't be seen is seldom drawn, and can be
    return _Link(strength=strength, shares=np.where(shares > VISIBLE * noise, shares, hidden), groups=groups)


def _rows(
    links: dict[tuple[int, int], _Link], prior: Sequence[Floats], count: int, generator: np.random.Generator
) -> list[Integers]:
    """Cells of each column, (count,), drawn along a maximum spanning tree: each column given its parent."""
    rows: dict[int, Integers] = {}
    while len(rows) < len(prior):
        known = [pair for pair in links if pair[0] in rows and pair[1] not in rows and links[pair].strength > 0.0]
        if known:
            parent, column = max(known, key=lambda pair: links[pair].strength)
            rows[column] = _given(links[parent, column], rows[parent], prior[column], generator)
        else:  # a column that depends on none so far: the one that most others depend on
            left = [column for column in range(len(prior)) if column not in rows]
            column = max(left, key=lambda one: sum(max(0.0, links[p].strength) for p in links if p[0] == one))
            rows[column] = _inverse(np.repeat(prior[column][None], count, axis=0), _marks(count, generator))
    return [rows[column] for column in range(len(prior))]


def _given(link: _Link, parent: Integers, prior: Floats, generator: np.random.Generator) -> Integers:
    """A cell of a column for each cell of its parent: its group by the block, the cell in it as the column has it."""
    groups = link.groups[1]
    inside = prior / np.maximum(np.bincount(groups, prior)[groups], 1e-300)
    chances = link.shares[link.groups[0][parent]][:, groups] * inside
    return _inverse(chances, generator.random(len(parent)))


def _marks(count: int, generator: np.random.Generator) -> Floats:
    marks: Floats = (generator.permutation(count) + generator.random()) / count
    return marks


def _inverse(chances: Floats, marks: Floats) -> Integers:
    """The cell at which the cumulative chances (n, cells) pass each mark (n,) in [0, 1)."""
    below = np.cumsum(chances, axis=1)
    passed: Integers = (below <= (marks * below[:, -1])[:, None]).sum(axis=1)
    last: Integers = np.minimum(passed, chances.shape[1] - 1)
    return last
