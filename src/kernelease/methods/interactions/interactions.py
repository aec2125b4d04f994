"""Tables: noisy counts of columns, pairs and chosen sets of three, and a mixture of products that matches them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from kernelease.arrays import Floats
from kernelease.errors import ParameterError, SchemaError
from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver
from kernelease.fit.mixtures.one_way import one_ways
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks
from kernelease.methods.interactions import pairs as pair_blocks
from kernelease.methods.interactions import triples as triple_blocks
from kernelease.methods.interactions.pairs import Noise
from kernelease.methods.interactions.shares import SIZE, Shares
from kernelease.methods.interactions.singles import LONG, in_order, single_blocks, smallest_block
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.mechanisms import Selection, noise_scale
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.private.counts import ExactCounts, joined
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed
from kernelease.table import Column


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions:
    """Count single columns; then pairs, in cells that can be seen through the noise; then sets of three; fit; draw.

    The cells of pairs follow from the noisy counts of single columns, and sets of three are chosen privately where the
    fit of pairs is farthest from the table. A `target` is a column to predict: every pair is then counted per class of
    it, which costs no more noise, only more cells. `triples` is how many sets of three are chosen (None: as many as the
    budget can show; 0: none).
    """

    solver: MixtureSolver = MixtureSolver()
    target: str | None = None
    triples: int | None = None

    def __post_init__(self) -> None:
        if self.triples is not None and self.triples < 0:
            raise ParameterError(f"Interactions: triples must be at least 0, got {self.triples!r}.")

    def check(self, columns: Sequence[Column]) -> None:
        """Refuse, before anything is read or spent, a target that is not there and a table that is too wide."""
        self._target(columns)
        pair_blocks.check_width(columns)

    def most_numbers(self, columns: Sequence[Column]) -> int:
        """The most noisy numbers of a release, whatever the counts turn out to be."""
        sizes = [column.size for column in columns]
        pairs = pair_blocks.most_numbers(sizes, self._target(columns))
        return 4 * sum(sizes) + pairs + triple_blocks.most_numbers(sizes, self.triples)

    def measure(
        self,
        counts: ExactCounts,
        columns: Sequence[Column],
        budget: PrivacyFilter,
        *,
        noise: NoiseSource,
        seed: PublicSeed,
        progress: Progress = SILENT,
    ) -> NoisyBlocks:
        """Rounds of noisy counts, each planned from the noisy counts of those before it."""
        self.check(columns)
        neighbours, ordered = budget.privacy.neighbours, tuple(in_order(column) for column in columns)
        parts: list[NoisyBlock] = []
        rows = counts.public_rows(neighbours)
        if rows is None:
            parts += counts.privatise([smallest_block(columns, SIZE)], budget, noise=noise)
            rows = joined(parts, counts, neighbours).rows
        shares = self.shares(columns, budget.privacy, budget.total, rows)
        parts += counts.privatise(single_blocks(columns, shares.singles), budget, noise=noise)
        noisy = joined(parts, counts, neighbours, ordered=ordered)
        level = count_noise(budget.privacy, budget.total)
        distributions = [one.distribution for one in one_ways(noisy)]
        pairs = self.pairs(columns, distributions, noisy.rows, shares, level) if len(columns) > 1 else ()
        if not pairs:  # nothing can be seen of pairs: spend the rest on what can
            rest = single_blocks(columns, 1.0 - shares.size - shares.singles) if shares.pairs else ()
            return joined([*parts, *counts.privatise(rest, budget, noise=noise)], counts, neighbours, ordered=ordered)
        parts += counts.privatise(pairs, budget, noise=noise)
        noisy = joined(parts, counts, neighbours, ordered=ordered)
        if shares.count == 0:
            return noisy
        mixture = self.solver.rough().solve(noisy, seed, progress)
        blocks, most = triple_blocks.candidates(noisy, mixture, count=shares.count, share=shares.triples, noise=level)
        progress.stage("adding noise")
        selections: tuple[Selection, ...] = ()
        if len(blocks) > most:
            selections = counts.choose(
                blocks,
                triple_blocks.expected_counts(mixture, blocks, noisy.rows, counts.unit),
                triple_blocks.handicaps(blocks, level, counts.unit),
                budget,
                count=most,
                share=shares.choice,
                noise=noise,
            )
            blocks = tuple(blocks[selection.index] for selection in selections)
        parts += counts.privatise(blocks, budget, noise=noise, stage=1)
        return joined(parts, counts, neighbours, ordered=ordered, selections=selections)

    def fit(self, noisy: NoisyBlocks, seed: PublicSeed, progress: Progress = SILENT) -> Mixture:
        """The public step: free, and repeatable with another solver."""
        return self.solver.solve(noisy, seed, progress)

    def shares(self, columns: Sequence[Column], privacy: Privacy, total: Loss, rows: float) -> Shares:
        """How the budget is parted."""
        atoms = sum(min(column.size, LONG) for column in columns)
        return Shares.rule(
            len(columns),
            rows / (count_noise(privacy, total)(1.0) * atoms),
            known_rows=privacy.neighbours is Neighbours.REPLACE_ONE,
            target=self._target(columns) is not None,
            triples=self.triples,
        )

    def pairs(
        self, columns: Sequence[Column], distributions: Sequence[Floats], rows: float, shares: Shares, noise: Noise
    ) -> tuple[Block, ...]:
        """The blocks of the second round, by the distributions of single columns."""
        return pair_blocks.pair_blocks(
            columns,
            distributions,
            rows=rows,
            share=shares.pairs,
            noise=noise,
            target=self._target(columns),
        )

    def _target(self, columns: Sequence[Column]) -> int | None:
        if self.target is None:
            return None
        names = [column.name for column in columns]
        if self.target not in names:
            raise SchemaError(f"target: there is no column {self.target!r}.", path=("columns",))
        return names.index(self.target) if len(columns) > 2 else None


def count_noise(privacy: Privacy, total: Loss) -> Noise:
    """The noise of a count, in rows, for each share of the budget."""
    sensitivity = block_sensitivity(privacy.neighbours)
    return lambda share: noise_scale(privacy, total, sensitivity, share)
