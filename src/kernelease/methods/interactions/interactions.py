"""Tables: noisy counts of columns, pairs and chosen larger sets, and a mixture of products that matches them."""

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.exact.counting import ExactCounts
from kernelease.exact.rows import PrivateRows
from kernelease.fit.mixtures.maps import closer_look, compounds_of, most_closer_numbers
from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver
from kernelease.fit.mixtures.one_way import distributions_of
from kernelease.machine import one_thread
from kernelease.measured.blocks import Block, NoisyBlocks, finest, with_share
from kernelease.measured.counts import Contrasts, Counts
from kernelease.measured.looks import Laid, NoisyLook, laid_columns
from kernelease.measured.measured import Measured
from kernelease.methods.interactions import (
    pairs as details,
    pairs as pair_blocks,
    pairs as selection,
    sets as moments,
    sets as set_blocks,
    texture,
)
from kernelease.methods.interactions.notices import release_notices
from kernelease.methods.interactions.pairs import (
    AGAIN,
    MOST_CLASSES,
    Pairing,
    blocks_of,
    pair_noise,
    second_look,
)
from kernelease.methods.interactions.rounds import (
    CHOSEN,
    FITTING,
    READING,
    ROUGHLY,
    TOGETHER,
    FittedTable,
    Reserve,
    Rounds,
    Workload,
    fit_workload,
)
from kernelease.methods.interactions.sets import Cells, least_share
from kernelease.methods.interactions.singles import (
    LONG,
    SINGLE_POWER,
    SIZE,
    Noise,
    Shares,
    atoms_seen,
    count_noise,
    first_look,
    group_values,
    leaves,
    noise_scale,
    number_of_rows,
    single_blocks,
)
from kernelease.methods.method import Context, Method
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import Neighbours
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Column
from kernelease.table.domain import Domain
from kernelease.table.expressions.formulas import Analysis
from kernelease.table.schema import Schema

# research: Tables: constants that matter. Of the pairs that could be measured: then they get all that is left
NEARLY_ALL = 0.95
CLOSER = 0.14  # convention: of the budget, for two columns value by value: half or twice as much makes no table worse
# research: Tables: constants that matter. Of all rows, the noise of a pair's count from which on pairs are
# not counted per class of a target
FAINT_PER_CLASS = 1.0 / 1000.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions(Method):
    """Count single columns; then pairs, in cells that can be seen through the noise; then larger sets; fit; draw.

    Last come sums of the offsets of numbers and dates within their cells, for means and products of numbers.

    The cells of pairs follow from the noisy counts of single columns, and sets of three are chosen privately where the
    fit of pairs is farthest from the table, or sets of four that show what no three of them do. Where all pairs would
    drown in noise, a forest of them is chosen privately, and the model fitted to it suggests others.

    A `target` is a column to predict: pairs with it get a larger share; where noise is small and it has few classes,
    every pair is counted per class of it instead, which costs no more noise, only more cells.
    `triples` is how many sets of three or four are chosen (None: as many as the budget can show; 0: none).
    `analyses` will be asked of the release, "ill ~ age + arm" or "mean income by region, sex": the columns that each
    needs together are counted in any case, with a share of the budget that is set aside before anything is read.
    """

    uses_kernel: ClassVar[bool] = False
    draws_rows: ClassVar[bool] = True

    solver: MixtureSolver = MixtureSolver()
    target: str | None = None
    triples: int | None = None
    analyses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.triples is not None and self.triples < 0:
            raise ParameterError(f"Interactions: triples must be at least 0, got {self.triples!r}.")
        object.__setattr__(self, "analyses", tuple(dict.fromkeys(self.analyses)))
        for text in self.analyses:
            Analysis.parse(text)

    def check(self, domain: Domain) -> None:
        """Refuse, before anything is read or spent, a target that is not there and a table that is too wide."""
        if domain.schema is None:
            raise ParameterError("Interactions: needs declared columns. Give a schema, or another method.")
        self._target(domain.schema.columns)
        self.needed_sets(domain.schema.columns)
        pair_blocks.check_width(domain.schema.columns)

    def reserve(self, columns: Sequence[Column]) -> Reserve:
        """The most noisy numbers of each round, whatever the counts turn out to be."""
        looks, atoms = texture.most_look_numbers(columns), sum(leaves(columns))
        columns = group_values(texture.most_atoms(columns))
        sizes = [column.size for column in columns]
        return Reserve(
            singles=4 * (sum(sizes) + atoms),
            pairs=pair_blocks.most_pair_numbers(sizes, self._split_column(columns)),
            triples=set_blocks.most_set_numbers(sizes, self.triples),
            moments=moments.most_moment_numbers(columns)
            + max(moments.most_spread_numbers(columns), pair_blocks.most_side_numbers(len(columns))),
            details=details.most_detail_numbers(sizes) + most_closer_numbers(sizes),
            looks=looks,
            promised=set_blocks.most_promised_numbers(sizes, self.needed_sets(columns)),
        )

    def needed_sets(self, columns: Sequence[Column]) -> tuple[tuple[int, ...], ...]:
        """The sets of columns that the analyses need together, by their places; none that is part of another."""
        names = [column.name for column in columns]
        sets: dict[frozenset[int], None] = {}
        for text in self.analyses:
            for one in Analysis.parse(text).sets:
                for name in one:
                    if name not in names:
                        raise SchemaError(f"analysis {text!r}: there is no column {name!r}.{nearest(name, names)}")
                sets[frozenset(names.index(name) for name in one)] = None
        whole = [one for one in sets if len(one) > 1 and not any(one < other for other in sets)]
        return tuple(sorted(tuple(sorted(one)) for one in whole))

    @one_thread()
    def measure(self, rows: PrivateRows, context: Context) -> NoisyBlocks:
        """Charge the ledger, then count in rounds."""
        self.check(context.domain)
        schema, counts = context.declared("Interactions"), rows.counts()
        context.public_rows(rows)  # an empty table is refused here
        reserve = self.reserve(schema.columns)
        reserve.total(context.privacy, counts.unit)  # refuses, before the charge, what could not be drawn
        budget = context.open_budget(reserve.numbers, f"Interactions on {schema.name}")
        looks = texture.Looks(counts, schema, budget, context.noise)
        if (laid := looks.lay()) and counts.again is not None:
            schema = replace(schema, columns=laid_columns(schema.columns, laid))
            counts = counts.again(schema)
        return self.rounds(
            counts,
            schema.columns,
            budget,
            noise=context.noise,
            seed=context.seed,
            progress=context.progress,
            looks=tuple(looks.taken),
            laid=laid,
        )

    def rounds(
        self,
        counts: ExactCounts,
        columns: Sequence[Column],
        budget: PrivacyFilter,
        *,
        noise: NoiseSource,
        seed: PublicSeed,
        progress: Progress = SILENT,
        looks: tuple[NoisyLook, ...] = (),
        laid: tuple[Laid, ...] = (),
        kept: float = 0.0,
    ) -> NoisyBlocks:
        """Noisy counts in rounds, each planned from the noisy counts of those before.

        What each may spend, in order; 4 and 5 have theirs set aside from the start:

        1. the number of rows, where it is private: `SIZE`;
        2. single columns: `shares.singles`; all that is left but `shares.sides`, where no pair can be seen;
        3. all pairs: `shares.pairs`; details and larger sets: what is left. Or, where pairs are chosen: a forest,
           `shares.choice` and `shares.forest`; more pairs, and single columns again: what is left;
        4. sets that analyses need: `promised`;
        5. moments: `summed`, and what those before have left;
        6. the sides of rows: `shares.sides`; or how numbers go together: a part of 3, set aside after its first fit.

        The share `kept` of the budget is left to whoever measures after them.
        """
        rounds = Rounds(counts, columns, budget, noise, kept=kept, looks=looks, laid=laid)
        columns, sets = rounds.columns, self.needed_sets(columns)
        summed, promised = moments.share(columns), set_blocks.promised_share(sets)
        aside = summed + promised
        if rounds.rows is None:
            rounds.count([number_of_rows(SIZE)])
        shares = self.shares(columns, budget.privacy, budget.total, rounds.noisy.rows, kept)
        if len(columns) == 1 or shares.most == 0:
            last = self._measure_alone(rounds, shares.sides, aside)
        else:
            self._measure_singles(rounds, shares.singles, interactions=shares.interactions)
            measure = self._measure_every if shares.most is None else self._measure_chosen
            last = measure(rounds, shares, aside, seed, progress)
        if sets:
            noisy, distributions = rounds.known
            rounds.count(set_blocks.promised_blocks(noisy, distributions, sets, share=promised, noise=rounds.sigma))
        if summed:
            self._measure_moments(rounds, rounds.left(_share_of(last)))
        if last:
            rounds.weigh(last)
        return rounds.noisy_blocks

    def _measure_alone(self, rounds: Rounds, sides: float, aside: float) -> tuple[Block, ...]:
        """Single columns, for all but what is set aside; the sides of rows come back, to be measured last of all."""
        self._measure_singles(rounds, rounds.left(aside, sides), interactions=len(rounds.columns) > 1)
        if sides == 0.0:
            return ()
        free = [None if inside else column for column, inside in zip(rounds.columns, rounds.leaves, strict=True)]
        block = pair_blocks.side_block(free, distributions_of(rounds.noisy), sides)
        if block is None:
            self._measure_again(rounds, rounds.left(aside))
            return ()
        return (block,)

    def _measure_singles(self, rounds: Rounds, share: float, *, interactions: bool) -> None:
        """Every column, for so much: a first look, then each for as much as it needs by what is seen of it.

        Leaves are left to the last look: once is enough for them.
        """
        first = first_look(len(rounds.columns), pure=rounds.pure)
        once = rounds.leaves if first == 1.0 else ()
        rounds.count(
            single_blocks(rounds.columns, first * share, centred=rounds.centred, interactions=interactions, leaves=once)
        )
        if first < 1.0:
            self._measure_again(rounds, (1.0 - first) * share, interactions=interactions)

    def _measure_again(self, rounds: Rounds, share: float, *, interactions: bool = False) -> None:
        """Every column, for so much, each for as much as it needs by what is known of it."""
        noisy, distributions = rounds.known
        needs, own = atoms_seen(distributions, noisy.rows, share, rounds.sigma, SINGLE_POWER), rounds.leaves
        rounds.count(
            single_blocks(
                rounds.columns, share, centred=rounds.centred, interactions=interactions, needs=needs, leaves=own
            )
        )

    def _measure_moments(self, rounds: Rounds, share: float) -> None:
        """Sums of offsets, for so much; single columns once more where there are none."""
        noisy, distributions = rounds.known
        blocks = moments.moment_blocks(rounds.columns, noisy, distributions, share, rounds.sigma_in_units)
        if blocks:
            rounds.weigh(blocks)
        else:
            self._measure_again(rounds, share)

    def _measure_every(
        self, rounds: Rounds, shares: Shares, aside: float, seed: PublicSeed, progress: Progress
    ) -> tuple[Block, ...]:
        """All pairs, and larger sets where these can be seen; single columns once more where pairs can't.

        What comes back is how numbers are to be looked at together in the end, if at all: its share is not spent here.
        """
        pairing = self._pairing(rounds, shares)
        pairs = pairing.every()
        if not pairs:
            self._measure_again(rounds, rounds.left(aside))
            return ()
        self._expect(progress, rounds, pairs)
        count, share = shares.count, shares.triples
        cells = Cells.of(rounds.noisy, pairing.distributions, pairs, count=count, share=share, noise=rounds.sigma)
        if not cells.any_sets(pairs):
            rounds.count(with_share(pairs, rounds.left(aside)))
            return ()
        self._measure_pairs(rounds, pairs)
        mixture = self._fit_roughly(rounds, seed, progress)
        progress.stage(CHOSEN)
        if mixture is None:
            rounds.count(with_share(pairs, rounds.left(aside)), stage=1)
            return ()
        left = rounds.left(aside)
        self._measure_closer(rounds, left / 3.0)
        last = self._plan_spread(rounds, mixture, rounds.left(aside) / 3.0)
        shares = shares.after(rounds.left(aside, _share_of(last)) / left)
        rounds.count(replace(pairing, shares=shares).details(mixture, pairs), stage=1)
        sets = self._choose_sets(rounds, mixture, cells, shares)
        rounds.count(with_share(sets, rounds.left(aside, _share_of(last))), stage=1)
        return last

    def _measure_pairs(self, rounds: Rounds, pairs: Sequence[Block]) -> None:
        """All pairs; of what interactions get a part goes to a second look at those that noise hides most of.

        A target's pairs have more than others from the start, and keep it.
        """
        if self.target is not None or not isinstance(pairs[0], Contrasts):
            rounds.count(pairs)
            return
        whole = _share_of(pairs)
        rounds.count(with_share(pairs, (1.0 - AGAIN) * whole))
        noisy, distributions = rounds.known
        rounds.count(second_look(noisy, pairs, distributions, AGAIN * whole))

    def _fit_roughly(self, rounds: Rounds, seed: PublicSeed, progress: Progress) -> Mixture | None:
        """What is known so far, by which the rest is measured; None where this fit fails.

        The budget is charged, and nothing is saved yet: a fit that fails must not cost what was measured before it. It
        sees noisy numbers alone, and fails again where they are the same: so the steps can be taken again.
        """
        try:
            return self.solver.rough().solve(rounds.noisy, seed, progress, stage=ROUGHLY)
        except (ArithmeticError, LookupError, ValueError) as error:
            warnings.warn(
                f"A first fit failed ({type(error).__name__}: {str(error)[:200]}): the rest of the budget is spent "
                "without it. This is a fault of kernelease, not of the data: please report it.",
                stacklevel=2,
            )
            return None

    def _measure_closer(self, rounds: Rounds, most: float) -> None:
        """Two columns that may go one to one, value by value, where there are such and a map can be seen."""
        if (look := closer_look(rounds.noisy)) is None:
            return
        groups = tuple(np.arange(rounds.noisy.sizes[column]) for column in look.columns)
        most = min(CLOSER, most)
        share = most if look.sigma is None else least_share(rounds.sigma_in_units, look.sigma, most)
        if share is not None:
            rounds.count([Counts(columns=look.columns, groups=groups, share=share)], stage=1)

    def _plan_spread(self, rounds: Rounds, mixture: Mixture, most: float) -> tuple[Block, ...]:
        """How numbers go together, where some do closely and nobody measures after these rounds."""
        if rounds.pure or rounds.kept > 0.0:
            return ()
        block = moments.spread_block(rounds.columns, mixture, rounds.noisy.rows, most, rounds.sigma, rounds.unit)
        return () if block is None else (block,)

    def _measure_chosen(
        self, rounds: Rounds, shares: Shares, aside: float, seed: PublicSeed, progress: Progress
    ) -> tuple[Block, ...]:
        """A forest of pairs, chosen privately; pairs that the model then suggests; single columns with the rest.

        What comes back is how numbers are to be looked at together in the end, if at all: its share is not spent here.
        """
        pairing, most = self._pairing(rounds, shares), shares.most or 0
        cells = pairing.cells()
        blocks = selection.candidates(cells, seed.generator("candidate pairs"))
        if not blocks:
            self._measure_again(rounds, rounds.left(aside))
            return ()
        likely = blocks_of([one.columns for one in blocks[:most]], cells, shares.forest + shares.pairs)
        self._expect(progress, rounds, likely, len(blocks))
        expected = selection.independent_counts(blocks, pairing.distributions, pairing.rows, rounds.unit)
        handicaps = selection.chance(expected, rounds.unit)
        picks = min(most, len(rounds.columns) - 1, len(blocks))

        forest = rounds.choose(blocks, expected, handicaps, count=picks, share=shares.choice, forest=True)
        sets = [block.columns for block in forest]
        if most == len(sets):
            rounds.count(pairing.chosen_blocks(sets, cells, rounds.left(aside)), stage=1)
            return ()
        rounds.count(pairing.chosen_blocks(sets, cells, shares.forest), stage=1)
        mixture = self._fit_roughly(rounds, seed, progress)
        progress.stage(CHOSEN)
        if mixture is None:
            self._measure_again(rounds, rounds.left(aside))
            return ()
        self._measure_closer(rounds, rounds.left(aside) / 3.0)
        last = self._plan_spread(rounds, mixture, rounds.left(aside) / 3.0)
        more = selection.suggest(mixture, cells, forest, most - len(sets), pairing.target)
        part = len(more) / (most - len(sets))
        if more:
            share = rounds.left(aside, _share_of(last)) * (part if part < NEARLY_ALL else 1.0)
            rounds.count(pairing.chosen_blocks(more, cells, share), stage=1)
        if part < NEARLY_ALL:
            self._measure_again(rounds, rounds.left(aside, _share_of(last)))
        return last

    def _choose_sets(self, rounds: Rounds, mixture: Mixture, cells: Cells, shares: Shares) -> tuple[Block, ...]:
        """Sets of three or four columns: all that may be, or as many as can be measured, chosen privately."""
        noisy, unit = rounds.noisy, rounds.unit
        blocks, most = set_blocks.candidates(noisy, mixture, cells, count=shares.count, share=shares.triples)
        if len(blocks) <= most:
            return blocks
        expected = set_blocks.expected_counts(mixture, blocks, noisy.rows, unit)
        handicaps = set_blocks.handicaps(blocks, cells, rounds.sigma, unit)
        return rounds.choose(blocks, expected, handicaps, count=most, share=shares.choice)

    @one_thread()
    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> FittedTable:
        """The public step: free, and repeatable with another solver."""
        if not isinstance(measured, NoisyBlocks):
            raise ParameterError("Interactions: can only fit noisy counts.")
        progress.expect(fit_workload(measured, self.solver).after())
        compounds, apart, told = compounds_of(measured)
        mixture = self.solver.solve(measured, seed, progress, stage=FITTING, compounds=compounds)
        mixture = replace(mixture, apart=apart, told=told)
        return FittedTable(mixture=mixture, measured=measured, compounds=compounds)

    def _expect(self, progress: Progress, rounds: Rounds, pairs: Sequence[Block], looked_at: int = 0) -> None:
        """Say what is ahead, from the noisy counts of pairs on."""
        noisy = rounds.noisy
        work = Workload(
            rows=noisy.rows,
            columns=len(noisy.sizes),
            blocks=tuple(pairs),
            looked_at=looked_at,
            signal=noisy.rows / float(np.median([rounds.sigma(pairs[place].share) for place in finest(pairs)])),
            solver=self.solver,
        )
        progress.expect({name: seconds for name, seconds in work.seconds().items() if name != READING})
        progress.stage(TOGETHER)

    def notices(self, measured: Measured, schema: Schema | None, privacy: Privacy) -> tuple[str, ...]:
        """Notices: no pair was measured, noise hides nearly all, or some columns are lost."""
        return release_notices(measured, schema, privacy, self)

    def shares(
        self, columns: Sequence[Column], privacy: Privacy, total: Loss, rows: float, kept: float = 0.0
    ) -> Shares:
        """How the budget is parted, but for what is `kept` of it for whoever comes after, and what pairs become.

        They are chosen where all would drown, and measured as interactions where that is better. These leave to
        single columns what these say: those of two columns of two values have half the noise. Not where
        privacy is pure, since in L1 a row moves an interaction farther than a count; nor where noise is so small that
        all pairs are counted per class of a target.
        """
        columns = group_values(columns)
        if kept:
            whole = self.shares(columns, privacy, total, rows)
            whole = replace(whole, singles=whole.singles + whole.sides, sides=0.0)  # whoever comes after tells more
            return whole.beside(kept / (1.0 - self.aside(columns)))  # of what the shares are parts of
        if privacy.pure:
            return self._shares(columns, privacy, total, rows, interactions=False)
        shares = self._shares(columns, privacy, total, rows, interactions=True)
        pairs = len(columns) * (len(columns) - 1) // 2
        if self._split_column(columns) is None or shares.most is not None or pairs == 0:
            return shares
        faint = count_noise(privacy, total)(shares.pairs / pairs) > FAINT_PER_CLASS * rows
        return shares if faint else self._shares(columns, privacy, total, rows, interactions=False)

    def _shares(
        self, columns: Sequence[Column], privacy: Privacy, total: Loss, rows: float, *, interactions: bool
    ) -> Shares:
        atoms, noise = sum(min(column.size, LONG) for column in columns), count_noise(privacy, total)
        shares = Shares.rule(
            len(columns),
            rows / (noise(1.0) * atoms),
            known_rows=privacy.relation is Neighbours.REPLACE_ONE,
            target=self._split_column(columns) is not None and not interactions,
            interactions=interactions,
            triples=self.triples,
        )
        aside = self.aside(columns)
        if len(columns) == 1:
            return shares.beside(aside)
        pairs, together = len(columns) * (len(columns) - 1) // 2, 1.0 - shares.size - shares.singles
        faint = pair_noise(columns, shares, noise)
        most, forest = selection.affordable(pairs, together, rows, faint), len(columns) - 1
        all_of_them = most < 2 * forest and faint(together / pairs) <= selection.FAINT_IF_ALL * rows
        if most < pairs and not all_of_them:
            told = functools.partial(noise_scale, privacy, total)
            sides = selection.sides_share(len(columns), rows, told, privacy.relation)
            shares = shares.with_choice(most) if most >= forest else shares.alone(sides)
        return shares.beside(aside)

    def aside(self, columns: Sequence[Column]) -> float:
        """The share of the budget for looks, moments and promised sets."""
        return moments.share(columns) + texture.share(columns) + set_blocks.promised_share(self.needed_sets(columns))

    def pairing(self, columns: Sequence[Column], shares: Shares, noise: Noise) -> "functools.partial[Pairing]":
        """How pairs are measured, once the distributions of single columns and the number of rows are known."""
        return functools.partial(
            Pairing,
            columns=tuple(columns),
            shares=shares,
            noise=noise,
            target=self._target(columns),
            split=self._split_column(columns) is not None,
        )

    def _pairing(self, rounds: Rounds, shares: Shares) -> Pairing:
        noisy, distributions = rounds.known
        return self.pairing(rounds.columns, shares, rounds.sigma)(distributions=tuple(distributions), rows=noisy.rows)

    def _split_column(self, columns: Sequence[Column]) -> int | None:
        """The target, where it has so few classes that every pair can be counted per class of it."""
        target = self._target(columns)
        return target if target is not None and columns[target].size <= MOST_CLASSES else None

    def _target(self, columns: Sequence[Column]) -> int | None:
        if self.target is None:
            return None
        names = [column.name for column in columns]
        if self.target not in names:
            hint = nearest(self.target, names)
            raise SchemaError(f"target: there is no column {self.target!r}.{hint}", path=("columns",))
        return names.index(self.target) if len(columns) > 2 else None


def with_analyses(method: Method, schema: Schema | None) -> Method:
    """The method with the analyses of a schema, too. One that counts no columns promises nothing: it refuses them."""
    if schema is None or not schema.analyses:
        return method
    if not isinstance(method, Interactions):
        raise ParameterError(
            f"analyses: {type(method).__name__} counts no columns together. Remove [analyses], or take Interactions."
        )
    return replace(method, analyses=(*method.analyses, *schema.analyses))


def _share_of(blocks: Sequence[Block]) -> float:
    """The share of the budget that blocks take together."""
    return sum(block.share for block in blocks)
