/* What all noisy counts together say of the cells of one or two columns: the estimator of the library, on its numbers.

   With p the exact counts, each view v says y_v = G_v p + noise of precision P_v. For a function h of the cells, the
   best linear unbiased estimate of h·p is λ·u + a₀N, where M λ + a₀ 1 = h, Σλ = 0, M = Σ_v G_vᵀ P_v G_v and
   u = Σ_v G_vᵀ P_v y_v; a₀ = 0 where N is not public. Two such estimates have the covariance λ_h·k. */

const NORMAL = 1.959963984540054; /* of a standard normal, 95 % lie within */
const LONG_TAILED = Math.max(NORMAL, -Math.log1p(-0.95) / Math.SQRT2); /* of Laplace noise, at most */

class Marginal {
  constructor(record, total) {
    this.columns = record.columns;
    this.groups = record.groups;
    this.total = total;
    this.factor = record.laplace ? LONG_TAILED : NORMAL;
    this.synthetic = record.synthetic;
    this.sizes = record.groups.map((group) => Math.max(...group) + 1);
    this.size = this.sizes.reduce((one, other) => one * other, 1);
    this.interaction = record.views.find((view) => view.index === undefined && view.onto === undefined); /* else undefined */
    this.views = record.views.filter((view) => view.index !== undefined).sort(lastIfBelow0).map((view) => {
      const precision = Array.isArray(view.precision)
        ? Float64Array.from(view.precision) : new Float64Array(view.values.length).fill(view.precision);
      return { index: Int32Array.from(view.index), values: Float64Array.from(view.values), precision };
    });
    this.finest = this.views.find((view) => view.values.length === this.size);
    this.variances = Float64Array.from(this.finest?.index ?? [0], (place) => (this.finest ? 1 / this.finest.precision[place] : 0)); /* none: one cell */
    this.sums = new Float64Array(this.size);
    for (const { index, values, precision } of this.views) {
      for (let cell = 0; cell < this.size; cell++) this.sums[cell] += precision[index[cell]] * values[index[cell]];
    }
    this.interaction?.values.forEach((value, cell) => { this.sums[cell] += this.interaction.precision * value; });
    this.inFew = record.views.filter((view) => view.onto !== undefined).map((view) => this.directions(view));
    for (const { rows, values, precision } of this.inFew) {
      rows.forEach((row, place) => row.forEach((one, cell) => { this.sums[cell] += precision[place] * one * values[place]; }));
    }
  }

  /** An interaction in other cells, as functions of the cells here: those in each sum that both can form, less means. */
  directions({ onto, held, values, precision }) {
    const second = this.sizes[1], width = held[1].length, [height, breadth] = held.map(sum);
    const places = values.map((_, place) => [Math.floor(place / width), place % width]);
    const rows = places.map(([row, column]) => Float64Array.from({ length: this.size }, (_, cell) => {
      const across = onto[1][cell % second] === column, down = onto[0][Math.floor(cell / second)] === row;
      return (Number(down) - held[0][row] / height) * (Number(across) - held[1][column] / breadth);
    }));
    return { rows, values, precision: places.map(([row, column]) => precision / (held[0][row] * held[1][column])) };
  }

  /** The functions V of all interactions in fewer cells, M₀⁻¹Vᵀ, and the factors of P⁻¹ + V M₀⁻¹ Vᵀ. */
  get few() {
    if (this.solvedFew !== undefined) return this.solvedFew;
    const rows = this.inFew.flatMap((view) => view.rows), inverted = rows.map((row) => this.inverseBeside(row));
    const noise = this.inFew.flatMap(({ rows: own, precision }) => own.map((_, place) => 1 / precision[place]));
    const matrix = rows.map((row, one) => Float64Array.from(inverted, (other, place) => dot(row, other) + (one === place ? noise[one] : 0)));
    this.solvedFew = { rows, inverted, factor: factored(matrix) };
    return this.solvedFew;
  }

  /** M⁻¹ h where interactions in fewer cells were measured, too: M = M₀ + VᵀPV (Woodbury's identity). */
  inverseInFew(h) {
    const x = this.inverseBeside(h), { rows, inverted, factor } = this.few;
    solveBy(factor, Float64Array.from(rows, (row) => dot(row, x))).forEach((one, place) => {
      for (let cell = 0; cell < this.size; cell++) x[cell] -= one * inverted[place][cell];
    });
    return x;
  }

  /** The sums of a function over the cells of each value of the first column, then of the second: Eᵀ x. */
  margins(x) {
    const [first, second] = this.sizes, sums = new Float64Array(first + second);
    for (let cell = 0; cell < this.size; cell++) {
      const column = cell % second, row = (cell - column) / second;
      sums[row] += x[cell];
      sums[first + column] += x[cell];
    }
    return sums;
  }

  /** The factors of Eᵀ M E + t tᵀ for functions of either column, x_ab = z_a + z_b: t = (1, −1) changes none. */
  get beside() {
    if (this.solvedBeside !== undefined) return this.solvedBeside;
    const [first, second] = this.sizes, size = first + second;
    const matrix = Array.from({ length: size }, () => new Float64Array(size));
    for (const { index, values, precision } of this.views) {
      const held = Array.from(values, () => new Float64Array(size));
      for (let cell = 0; cell < this.size; cell++) {
        const column = cell % second, row = (cell - column) / second;
        held[index[cell]][row] += 1;
        held[index[cell]][first + column] += 1;
      }
      held.forEach((counts, place) => counts.forEach((one, row) => {
        if (one > 0) counts.forEach((other, column) => { matrix[row][column] += precision[place] * one * other; });
      }));
    }
    const sign = (place) => (place < first ? 1 : -1), scale = matrix[0][0] / size;
    matrix.forEach((row, one) => row.forEach((_, other) => { row[other] += scale * sign(one) * sign(other); }));
    this.solvedBeside = factored(matrix);
    return this.solvedBeside;
  }

  /** M⁻¹ h where the interaction of the two columns was measured: its part and theirs are apart, and so is M. */
  inverseBeside(h) {
    const [first, second] = this.sizes, sums = this.margins(h), z = solveBy(this.beside, sums), all = sum(h) / this.size;
    return Float64Array.from(h, (value, cell) => {
      const column = cell % second, row = (cell - column) / second;
      const centred = value - sums[row] / second - sums[first + column] / first + all;
      return centred / this.interaction.precision + z[row] + z[first + column];
    });
  }

  /** The sums of a function over the cells of every view but the finest, one after the other: Gᵀ x. */
  gathered(x) {
    const sums = new Float64Array(this.coarse.size);
    for (const { index, start } of this.coarse.views) for (let cell = 0; cell < this.size; cell++) sums[start + index[cell]] += x[cell];
    return sums;
  }

  /** The views but the finest, and the factors of K = P⁻¹ + Gᵀ D⁻¹ G of their sums: few, where cells are many. */
  get coarse() {
    if (this.solvedCoarse !== undefined) return this.solvedCoarse;
    let size = 0;
    const views = this.views.filter((view) => view !== this.finest).map((view) => ({ ...view, start: (size += view.values.length) - view.values.length }));
    const matrix = Array.from({ length: size }, () => new Float64Array(size));
    for (const { start, precision } of views) precision.forEach((one, place) => { matrix[start + place][start + place] = 1 / one; });
    for (let cell = 0; cell < this.size; cell++) {
      for (const one of views) for (const other of views) matrix[one.start + one.index[cell]][other.start + other.index[cell]] += this.variances[cell];
    }
    this.solvedCoarse = { size, views, factor: factored(matrix) };
    return this.solvedCoarse;
  }

  /** M⁻¹ h = D⁻¹ (h − G K⁻¹ Gᵀ D⁻¹ h), with D the precisions of the finest view (Woodbury's identity). */
  inverse(h) {
    if (this.interaction) return this.inFew.length ? this.inverseInFew(h) : this.inverseBeside(h);
    const x = h.map((value, cell) => value * this.variances[cell]), { views, factor } = this.coarse;
    const solved = solveBy(factor, this.gathered(x));
    for (const { index, start } of views) for (let cell = 0; cell < this.size; cell++) x[cell] -= this.variances[cell] * solved[start + index[cell]];
    return x;
  }

  get ones() {
    this.solvedOnes ??= this.inverse(new Float64Array(this.size).fill(1));
    return this.solvedOnes;
  }

  solve(h) {
    if (this.total !== null && this.size === 1) return { weights: new Float64Array(1), constant: h[0] };
    const weights = this.inverse(h);
    if (this.total === null) return { weights, constant: 0 };
    const constant = sum(weights) / sum(this.ones);
    for (let cell = 0; cell < this.size; cell++) weights[cell] -= constant * this.ones[cell];
    return { weights, constant };
  }

  /** The estimate of a function's sum over all rows: its value and what its error is made of. */
  linear(h) {
    const { weights, constant } = this.solve(h);
    return { h, weights, value: dot(weights, this.sums) + constant * (this.total ?? 0) };
  }

  /** The estimate of the count of every cell; it may be negative. */
  estimates() {
    if (this.total !== null && this.size === 1) return Float64Array.of(this.total);
    const free = this.inverse(this.sums);
    if (this.total === null) return free;
    const missing = (this.total - sum(free)) / sum(this.ones);
    return free.map((count, cell) => count + missing * this.ones[cell]);
  }

  /** The share of the synthetic rows for which a function is 1. */
  rows(h) {
    return dot(h, this.synthetic);
  }
}

/** Views of the number of rows that take away what others told of it come last: what is before them stays positive. */
function lastIfBelow0(one, other) {
  return (one.precision < 0) - (other.precision < 0);
}

/** L D Lᵀ of a symmetric matrix, L below the diagonal of its place and D on it; the last of D may be below 0. */
function factored(matrix) {
  for (let row = 0; row < matrix.length; row++) {
    for (let column = 0; column <= row; column++) {
      let rest = matrix[row][column];
      for (let inner = 0; inner < column; inner++) rest -= matrix[row][inner] * matrix[column][inner] * matrix[inner][inner];
      matrix[row][column] = row === column ? rest : rest / matrix[column][column];
    }
  }
  return matrix;
}

/** (L D Lᵀ)⁻¹ b. */
function solveBy(factor, b) {
  const x = Float64Array.from(b);
  for (let row = 0; row < x.length; row++) for (let inner = 0; inner < row; inner++) x[row] -= factor[row][inner] * x[inner];
  for (let row = x.length - 1; row >= 0; row--) {
    x[row] /= factor[row][row];
    for (let inner = row + 1; inner < x.length; inner++) x[row] -= factor[inner][row] * x[inner];
  }
  return x;
}

function dot(one, other) {
  let total = 0;
  for (let place = 0; place < one.length; place++) total += one[place] * other[place];
  return total;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function covariance(one, other) {
  return 0.5 * (dot(one.weights, other.h) + dot(other.weights, one.h));
}

function clip(value, [low, high]) {
  return Math.min(Math.max(value, low), high);
}

/** A value with its 95 % interval, as text and numbers; `little` says that it is more than half of all that is possible. */
function estimated(value, ends, possible) {
  const length = ends[1] - ends[0], all = possible[1] - possible[0];
  const little = Number.isFinite(value) && (!Number.isFinite(length) || (all > 0 && all < 2 * length));
  return { value, low: ends[0], high: ends[1], text: estimateText(value, ends[0], ends[1]), little };
}

/** The least and the greatest value of a numerator where the denominator is 1; null where it never is. */
function possibleOf(numerator, denominator) {
  let low = Infinity, high = -Infinity;
  for (let cell = 0; cell < numerator.length; cell++) {
    if (denominator === null || denominator[cell] > 0) {
      low = Math.min(low, numerator[cell]);
      high = Math.max(high, numerator[cell]);
    }
  }
  return low > high ? null : [low, high];
}

/** A sum over all rows divided by a known number; `scale` times that. */
function known(marginal, part, divisor, within, scale) {
  const value = part.value / divisor, error = Math.sqrt(Math.max(0, covariance(part, part))) / divisor;
  const centre = clip(value, within);
  const ends = [-1, 1].map((sign) => scale * clip(centre + sign * marginal.factor * error, within));
  return estimated(scale * centre, ends, within.map((end) => scale * end));
}

/** The ratio of two noisy sums, by Fieller's theorem. */
function ratio(marginal, above, below, within) {
  const [first, second, both] = [covariance(above, above), covariance(below, below), covariance(above, below)];
  const square = marginal.factor ** 2, quadratic = below.value ** 2 - square * second;
  let ends = [-Infinity, Infinity];
  if (quadratic > 0 && below.value > 0) {
    const half = above.value * below.value - square * both;
    const root = Math.sqrt(Math.max(0, half * half - quadratic * (above.value ** 2 - square * first)));
    ends = [(half - root) / quadratic, (half + root) / quadratic];
  }
  const half = (ends[1] - ends[0]) / 2;
  if (ends[1] < within[0]) ends = [within[0], within[0] + half];
  else if (ends[0] > within[1]) ends = [within[1] - half, within[1]];
  ends = ends.map((end) => clip(end, within));
  if (below.value > 0) return estimated(clip(above.value / below.value, within), ends, within);
  const rows = marginal.rows(below.h); /* no true denominator is below 0: the synthetic rows say where in the interval */
  return estimated(rows > 0 ? clip(marginal.rows(above.h) / rows, ends) : (ends[0] + ends[1]) / 2, ends, within);
}

/** A count (`total`), a share of all rows, or a share of those for which `denominator` is 1. */
function average(marginal, above, denominator, total) {
  const possible = possibleOf(above.h, denominator);
  if (possible === null) return null;
  if (denominator === null && marginal.total !== null) {
    return known(marginal, above, marginal.total, possible, total ? marginal.total : 1);
  }
  if (denominator === null && total) return known(marginal, above, 1, [0, Infinity], 1);
  return ratio(marginal, above, marginal.linear(denominator ?? new Float64Array(marginal.size).fill(1)), possible);
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
    if (!(record instanceof Marginal)) found[place] = new Marginal(record, DATA.total);
  });
  return found;
}

/** The cells of a grouping as lists of atoms, by their first atom. */
function membersOf(groups) {
  const cells = new Map();
  groups.forEach((cell, atom) => cells.has(cell) ? cells.get(cell).push(atom) : cells.set(cell, [atom]));
  return [...cells.values()].sort((one, other) => one[0] - other[0]);
}

/** One label for several atoms. */
function labelOf(column, atoms) {
  const labels = atoms.map((atom) => column.labels[atom]);
  if (labels.length === 1) return labels[0];
  if (!column.ordered) return labels.join(" or ");
  const first = labels[0], last = labels[labels.length - 1];
  if (!labels.some((label) => label.startsWith("[") || label.startsWith("("))) {
    return `${first.split("..")[0]}..${last.includes("..") ? last.slice(last.lastIndexOf("..") + 2) : last}`;
  }
  const start = first.includes(", ") ? first.slice(0, first.indexOf(", ")) : `[${first}`;
  return `${start}, ${last.includes(", ") ? last.slice(last.indexOf(", ") + 2) : `${last}]`}`;
}
