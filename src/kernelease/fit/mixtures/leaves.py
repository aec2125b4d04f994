"""Leaves of a column in their groups: how likely each is, by noisy counts of it, and rows that have them so.

Of thousands of leaves most hold next to nothing, and noise on each adds up to more rows than there are. So counts are
shrunk as their own distribution says: in each group, an unknown distribution of counts, of which those of all groups
are a prior, is fitted to the noisy ones (Robbins 1956; Kiefer & Wolfowitz 1956), and a leaf gets its mean given what
was seen. Leaves that stand out stay as they are; what is left of the group goes to the others, about evenly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.one_way import OneWay, mean_counts
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.levels import Levels

# research: Tables: leaves of a hierarchy. Standard deviations from which on a count is taken as it is; the distance of
# the counts that may be; leaves that the distribution of all groups weighs; steps of the fit
SEEN, STEP, PRIOR, STEPS = 4.0, 0.25, 20.0, 20
_LEAST = 1e-300  # limit: of a likelihood: none is 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """Of a column whose atoms are leaves in groups: the group of each atom, and its share within it: (atoms,) each."""

    groups: Integers
    inside: Floats

    def drawn(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """An atom for each row's group, (n,) → (n,): in each group in numbers as its shares say, to within a row."""
        order = np.argsort(rows + generator.random(len(rows)))
        group = rows[order]
        counts = np.bincount(group, minlength=int(self.groups.max()) + 1)
        rank = np.arange(len(group)) - (np.cumsum(counts) - counts)[group]
        marks = (rank + generator.random(len(counts))[group]) / counts[group]
        by_group = np.argsort(self.groups, kind="stable")
        members = np.bincount(self.groups)
        ends = np.cumsum(self.inside[by_group])  # a group's shares add up to 1: it ends at the next whole number
        place = np.searchsorted(ends, group + marks, side="right")
        last = np.cumsum(members)
        atoms = np.empty_like(rows)
        atoms[order] = by_group[np.clip(place, (last - members)[group], last[group] - 1)]
        return atoms


def leaves_of(noisy: NoisyBlocks, levels: Levels, columns: Sequence[OneWay]) -> tuple[Leaves | None, ...]:
    """Of each column, its leaves where it has some. `columns` are the distributions of groups."""
    return tuple(
        None if groups is None else Leaves(groups=groups, inside=_inside(noisy, column, groups, one.distribution))
        for column, (groups, one) in enumerate(zip(levels, columns, strict=True))
    )


def _inside(noisy: NoisyBlocks, column: int, groups: Integers, distribution: Floats) -> Floats:
    """The shares of leaves in their groups: even ones, where leaves were not counted."""
    fine = [one for one in noisy.blocks if one.block.columns == (column,) and one.block.cells == len(groups)]
    members = np.bincount(groups)
    if not fine:
        return 1.0 / members[groups]
    counts, variance = mean_counts(fine, noisy.rows)
    order = np.argsort(groups, kind="stable")
    inside = np.empty(len(groups))
    inside[order] = shrunk_leaves(counts[order], groups[order], noisy.rows * distribution, float(np.sqrt(variance)))
    total = np.bincount(groups, inside)
    return np.where(total[groups] > 0.0, inside / np.maximum(total[groups], _LEAST), 1.0 / members[groups])


def shrunk_leaves(counts: Floats, groups: Integers, held: Floats, sigma: float) -> Floats:
    """Counts of leaves, none negative, from noisy ones: (atoms,). Those of a group add up to what it holds.

    Leaves come group by group. Noise is taken for normal: as Laplace noise it would be known no better.
    """
    values, seen = counts / sigma, counts > SEEN * sigma
    grid = np.arange(0.0, SEEN + STEP / 2, STEP)
    likelihood = np.exp(-0.5 * (np.clip(values, -SEEN, SEEN)[:, None] - grid) ** 2)
    means = _posterior_means(likelihood, grid, groups)
    parts = np.where(seen, counts, sigma * means)
    plain, light = (np.bincount(groups, np.where(which, parts, 0.0), minlength=len(held)) for which in (seen, ~seen))
    left = np.maximum(held - plain, 0.0)
    scaled = np.where(seen, parts, parts * (left / np.maximum(light, _LEAST))[groups])
    total = np.bincount(groups, scaled, minlength=len(held))
    result: Floats = scaled * (np.maximum(held, 0.0) / np.maximum(total, _LEAST))[groups]
    return result


def _posterior_means(likelihood: Floats, grid: Floats, groups: Integers) -> Floats:
    """E[count | what was seen of it], where each group has a distribution over the grid of its own: (atoms,).

    `likelihood` is of what was seen of each leaf, for each count of the grid: (atoms, grid). Expectation and
    maximisation, in turn.
    """
    members = np.bincount(groups)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    beliefs = np.full((len(members), len(grid)), 1.0 / len(grid))
    posterior = likelihood
    for _ in range(STEPS):
        posterior = likelihood * beliefs[groups]
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), _LEAST)
        sums = np.add.reduceat(posterior, starts, axis=0)
        everywhere = sums.sum(axis=0) / sums.sum()
        beliefs = (sums + PRIOR * everywhere) / (members + PRIOR)[:, None]
    return posterior @ grid
