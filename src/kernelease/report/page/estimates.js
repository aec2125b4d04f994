/* Estimates with intervals, from what the library has solved: counts of cells and their covariance.

   A marginal has estimates p of the counts of its cells, with covariance V − V E C Eᵀ V: V is diagonal, and E adds up
   cells. So the estimate of Σ h·count is h·p, and two of them have the covariance hᵀ(V − V E C Eᵀ V)k. What is left to
   do here is what depends on the question: the ratio of two such sums, with Fieller's interval. */

const NORMAL = 1.959963984540054; /* of a standard normal, 95 % lie within */
const LONG_TAILED = Math.max(NORMAL, -Math.log1p(-0.95) / Math.SQRT2); /* of Laplace noise, at most */

class Marginal {
  constructor(record) {
    this.columns = record.columns;
    this.groups = record.groups.map(cellsOf);
    this.total = DATA.total;
    this.factor = record.laplace ? LONG_TAILED : NORMAL;
    this.sizes = this.groups.map((group) => Math.max(...group) + 1);
    this.counts = Float64Array.from(record.counts);
    this.size = this.counts.length;
    this.variances = Array.isArray(record.variance) ? Float64Array.from(record.variance) : new Float64Array(this.size).fill(record.variance);
    let start = 0;
    this.sums = record.sums.map((maps) => {
      const { index, size } = this.summed(maps), from = start;
      start += size;
      return { index, from };
    });
    this.width = start;
    this.core = symmetric(record.core, start);
    this.inside = record.inside === null ? null : record.inside.map((part) => (typeof part === "string" ? floatsOf(part) : new Float64Array(this.size).fill(part)));
  }

  /** The sum that each cell is in, from the place of each column's cells. */
  summed(maps) {
    const along = maps.map((map, axis) => (map === true ? Array.from({ length: this.sizes[axis] }, (_, cell) => cell) : map));
    const counts = along.map((map) => (map === false ? 1 : Math.max(...map) + 1));
    const index = Int32Array.from({ length: this.size }, (_, cell) => {
      const places = this.sizes.length === 1 ? [cell] : [Math.floor(cell / this.sizes[1]), cell % this.sizes[1]];
      return along.reduce((found, map, axis) => found * counts[axis] + (map === false ? 0 : map[places[axis]]), 0);
    });
    return { index, size: counts.reduce((one, other) => one * other, 1) };
  }

  /** A function of the cells: the estimate of its sum over all rows, and Eᵀ V h and C Eᵀ V h for its covariances. */
  linear(h) {
    const added = new Float64Array(this.width);
    for (const { index, from } of this.sums) for (let cell = 0; cell < this.size; cell++) added[from + index[cell]] += this.variances[cell] * h[cell];
    const told = new Float64Array(this.width);
    for (let row = 0; row < this.width; row++) told[row] = dot(this.core[row], added);
    return { h, value: dot(h, this.counts), added, told };
  }

  covariance(one, other) {
    let total = 0;
    for (let cell = 0; cell < this.size; cell++) total += this.variances[cell] * one.h[cell] * other.h[cell];
    return total - dot(one.added, other.told);
  }
}

/** The cell of each atom, from the first atoms of runs or as it is. */
function cellsOf(told) {
  if (told[0] !== -1) return told;
  const groups = new Array(told[told.length - 1]);
  for (let cell = 0; cell < told.length - 2; cell++) groups.fill(cell, told[cell + 1], told[cell + 2]);
  return groups;
}

/** A symmetric matrix from its upper triangle, of four bytes a number. */
function symmetric(packed, size) {
  const view = new DataView(bytesOf(packed).buffer), rows = Array.from({ length: size }, () => new Float64Array(size));
  let place = 0;
  for (let row = 0; row < size; row++) {
    for (let column = row; column < size; column++) {
      rows[row][column] = rows[column][row] = view.getFloat32(place, true);
      place += 4;
    }
  }
  return rows;
}

/** Numbers of four bytes each. */
function floatsOf(packed) {
  const bytes = bytesOf(packed), view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 4 }, (_, place) => view.getFloat32(4 * place, true));
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function dot(one, other) {
  let total = 0;
  for (let place = 0; place < one.length; place++) total += one[place] * other[place];
  return total;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function clip(value, [low, high]) {
  return Math.min(Math.max(value, low), high);
}

/* All marginals by their columns, "3" or "1,3", in the order of their rounds; each is read when it is asked for. */
const MARGINALS = new Map();
for (const record of DATA.marginals) {
  const key = record.columns.join(",");
  if (!MARGINALS.has(key)) MARGINALS.set(key, []);
  MARGINALS.get(key).push(record);
}

function marginalsOf(columns) {
  const found = MARGINALS.get(columns.join(",")) ?? [];
  found.forEach((record, place) => {
    if (!(record instanceof Marginal)) found[place] = new Marginal(record);
  });
  return found;
}

const LEAST = 1e-9; /* of all rows, in every atom: so that every cell has an average */

/** About how the rows are distributed over the atoms of a column, by the synthetic ones: what cells that are cut are divided by. */
function atomShares(place) {
  const column = DATA.columns[place];
  column.shares ??= Float64Array.from(column.synthetic, (share) => share + LEAST);
  return column.shares;
}

/** Of the rows of each cell that noise hides, the part in each atom: farther from the others with a falling chance. */
function hiddenPlaces(place, groups) {
  const column = DATA.columns[place], shares = atomShares(place), sums = [0, 1, 2].map(() => new Float64Array(column.size));
  const [low, high] = [column.low, column.high].map((ends) => Float64Array.from({ length: column.size }, (_, atom) => ends[atom] ?? 0));
  groups.forEach((cell, atom) => { sums[0][cell] += shares[atom]; sums[1][cell] += (shares[atom] * (low[atom] + high[atom])) / 2; });
  const places = Float64Array.from(groups, (cell, atom) => {
    const half = (high[atom] - low[atom]) / 2, reach = Math.abs((low[atom] + high[atom]) / 2 - sums[1][cell] / sums[0][cell]) + half;
    return reach > 0 ? Math.max(half, 2 ** -1022) / reach : 1;
  });
  groups.forEach((cell, atom) => { sums[2][cell] += places[atom]; });
  return places.map((part, atom) => part / sums[2][groups[atom]]);
}

/* ---- Ratios of two sums over all rows. */

const NOTHING = [0, 0, 0];

/** The variances and the covariance of two sums by where in their cells numbers lie, with so many rows squared. */
function insideOf(marginal, functions, squares) {
  if (!functions.settled || functions.exact || marginal.inside === null) return NOTHING;
  const [own, hidden] = marginal.inside;
  return functions.spread.map((line, kind) => {
    let total = 0;
    for (let cell = 0; cell < marginal.size; cell++) total += squares[cell] * (own[cell] * line[cell] + hidden[cell] * functions.hiddenSpread[kind][cell]);
    return total;
  });
}

/** Fieller's interval of a ratio, so many standard errors out: all t with (a − t·b)² ≤ factor²·Var(a − t·b). */
function fieller(marginal, above, below, factor, inside = NOTHING) {
  const [first, both, second] = [[above, above], [above, below], [below, below]].map((pair, kind) => marginal.covariance(...pair) + inside[kind]);
  const square = factor ** 2, quadratic = below.value ** 2 - square * second;
  if (quadratic <= 0 || below.value <= 0) return [-Infinity, Infinity];
  const half = above.value * below.value - square * both;
  const root = Math.sqrt(Math.max(0, half * half - quadratic * (above.value ** 2 - square * first)));
  return [(half - root) / quadratic, (half + root) / quadratic];
}

/** An interval cut to what is possible; one that misses all of that is moved to its nearest end first. */
function clipped(within, [low, high]) {
  const half = (high - low) / 2;
  if (high < within[0]) [low, high] = [within[0], within[0] + half];
  else if (low > within[1]) [low, high] = [within[1] - half, within[1]];
  return [clip(low, within), clip(high, within)];
}

/** A value with its interval and its text. `little`: more than half of all that is possible, or more in doubt than half of it. */
function estimated(value, [low, high], possible, doubt = 0) {
  const length = high - low, all = possible[1] - possible[0];
  const vague = !Number.isFinite(length) || (all > 0 && all < 2 * length);
  const little = vague || Number.isNaN(value) || (possible[0] === 0 && 2 * doubt > value);
  return { value, low, high, text: estimateText(value, low, high), little, cut: doubt > 0 };
}

/** Σ numerator / Σ denominator over all rows, or over a known number; `scale` times that.

    Where a condition cuts through cells of numbers, how uneven rows are in them is one more error. Where it tells
    categories apart that share a cell, both functions may be one thing or another: `functions` has the least, the likely
    and the greatest. θ ≥ t says that Σ (numerator − t·denominator) ≥ 0, so that the pair for which this is least in each
    cell gives the lower end, and the greatest the upper. */
function ratioEstimate(marginal, functions, divisor, scale) {
  const known = divisor !== null;
  const within = !known || divisor === marginal.total ? functions.possible : [0, Infinity];
  const linear = (pair) => [marginal.linear(pair[0]), known ? null : marginal.linear(pair[1])];
  const ends = known ? knownEnds : ratioEnds;
  const middle = linear(functions.middle), below = known ? divisor : middle[1].value;
  const value = below > 0 ? clip(middle[0].value / below, within) : NaN;
  const inside = insideOf(marginal, functions, marginal.inside?.[2]), slope = known ? 0 : middle[0].value / below;
  const bounds = functions.settled || Number.isNaN(value) ? [value, value] : clipped(within, ends(marginal, functions, linear, middle, divisor, 0, within, NOTHING));
  const [low, high] = ends(marginal, functions, linear, middle, divisor, marginal.factor, within, inside);
  const bias = Math.max(0, value - bounds[0], bounds[1] - value) || 0;
  const place = Math.sqrt(Math.max(0, inside[0] - 2 * slope * inside[1] + slope ** 2 * inside[2])) / below;
  return estimated(scale * value, [scale * low, scale * high], within.map((end) => scale * end), scale * (bias + (below > 0 ? NORMAL * place : 0)));
}

/** Of a sum over a known number. */
function knownEnds(marginal, functions, linear, middle, divisor, factor, within, inside) {
  const end = (part, sign) => clip(clip(part.value / divisor, within) + sign * factor * Math.sqrt(Math.max(0, marginal.covariance(part, part) + inside[0])) / divisor, within);
  const own = [end(middle[0], -1), end(middle[0], 1)];
  if (functions.settled) return own;
  const [least, most] = [functions.least(0), functions.greatest(0)].map((pair) => linear(pair)[0]);
  return [Math.min(own[0], end(least, -1)), Math.max(own[1], end(most, 1))];
}

/** Of a ratio of two noisy sums. */
function ratioEnds(marginal, functions, linear, middle, _, factor, within, inside) {
  const own = fieller(marginal, ...middle, factor, inside);
  if (functions.settled) return clipped(within, own);
  const far = [functions.least, functions.greatest].map((choose, side) => {
    let [guess, pair] = [0, choose(0)];
    for (let step = 0; step < 30; step++) {
      const found = fieller(marginal, ...linear(pair), factor)[side];
      if (!Number.isFinite(found) || found === guess) return found;
      const next = choose(found);
      if (next.every((part, place) => part.every((one, cell) => one === pair[place][cell]))) return found;
      [guess, pair] = [found, next];
    }
    return guess;
  });
  return clipped(within, [Math.min(own[0], far[0]), Math.max(own[1], far[1])]);
}

/** About how long an interval would be if cells were filled so: how the library chooses among rounds. `surely`: wherever rows lie. */
function widthOf(marginal, functions, divisor, shares, surely) {
  const [above, below] = functions.middle, known = divisor !== null;
  const share = known ? 1 : Math.max(dot(below, shares), Math.min(...shares)), ratio = known ? 0 : dot(above, shares) / share;
  const rest = marginal.linear(above.map((one, cell) => one - ratio * below[cell]));
  const rows = marginal.total ?? Math.max(1, sum(marginal.counts)), noise = marginal.covariance(rest, rest);
  if (functions.settled && !surely) {
    const inside = insideOf(marginal, functions, shares.map((share) => (rows * share) ** 2));
    return 4 * Math.sqrt(Math.max(0, noise + inside[0] - 2 * ratio * inside[1] + ratio ** 2 * inside[2]));
  }
  const [low, high] = [functions.least(ratio), functions.greatest(ratio)].map((pair) => pair[0].map((one, cell) => one - ratio * pair[1][cell]));
  return 4 * Math.sqrt(Math.max(0, noise)) + rows * dot(high.map((one, cell) => one - low[cell]), shares);
}

/** Shares of the cells of a marginal, by its columns' own: as if they were independent, or at most. */
function filled(marginal, most = false) {
  const held = marginal.columns.map((place, axis) => {
    const shares = new Float64Array(marginal.sizes[axis]);
    heldBy(place).forEach((share, atom) => { shares[marginal.groups[axis][atom]] += share; });
    return shares.map((share) => Math.max(0, share) + LEAST);
  });
  const cells = held.length === 1 ? held[0] : Float64Array.from({ length: marginal.size }, (_, cell) => {
    const [one, other] = [held[0][Math.floor(cell / marginal.sizes[1])], held[1][cell % marginal.sizes[1]]];
    return most ? Math.min(one, other) : one * other;
  });
  const all = most ? 1 : sum(cells);
  return cells.map((share) => share / all);
}

/** Counts of a column's atoms over all rows, as they are: those below 0 make up for rows that noise put elsewhere. */
function heldBy(place) {
  const finest = marginalsOf([place]).reduce((best, one) => (best === null || one.size > best.size ? one : best), null);
  if (finest === null) return atomShares(place);
  const size = new Float64Array(finest.size);
  finest.groups[0].forEach((cell) => { size[cell] += 1; });
  return finest.groups[0].map((cell) => finest.counts[cell] / size[cell] / DATA.rows);
}
