/* The cells of a column: where they lie on its axis, and what they are called. */

const BUFFER = new DataView(new ArrayBuffer(8));

/** The next number above (+1) or below (-1). */
function beside(value, direction) {
  if (value === 0) return direction * Number.MIN_VALUE;
  BUFFER.setFloat64(0, value);
  BUFFER.setBigInt64(0, BUFFER.getBigInt64(0) + BigInt((value > 0 ? 1 : -1) * direction));
  return BUFFER.getFloat64(0);
}

/** Half of how wide a number is drawn: as far as its neighbours are, or nearly as far as the nearest of those that are listed. */
function halfOf(column) {
  const spacing = column.spacing ?? 0, gaps = column.low.slice(1).map((low, cell) => low - column.low[cell]);
  const single = spacing > 0 && column.low.every((low, cell) => low === column.high[cell]);
  return Math.max(spacing, single ? 0.8 * Math.min(...gaps) : 0) / 2;
}

for (const column of DATA.columns) {
  if (column.low !== undefined && column.high === undefined) {
    column.high = column.spacing !== null ? column.low : column.low.map((low, cell) => {
      if (cell === column.low.length - 1) return column.top;
      return column.points && cell === 0 ? low : beside(column.low[cell + 1], -1);
    });
  }
  if (column.low !== undefined) column.half = halfOf(column);
}

function isNull(column, atom) {
  return column.nullable && atom === column.size - 1;
}

/** The atoms but NULL. */
function valuesOf(column) {
  return Array.from({ length: column.size - (column.nullable ? 1 : 0) }, (_, atom) => atom);
}

function isCelled(column) {
  return column.low !== undefined;
}

/** What a boolean, a category or an ordinal is called. */
function valueText(column, atom) {
  return isNull(column, atom) ? "NULL" : column.labels?.[atom] ?? String(column.values[atom]);
}

/** Where a cell begins and ends on the axis. A day lasts until the next one; a whole number is in the middle. */
function edgesOf(column, first, last = first) {
  const [low, high] = [column.low[first], column.high[last]];
  if (["date", "datetime"].includes(column.type)) return [low, high + column.spacing];
  return [low - column.half, high + column.half];
}

/** A range of a column's values in words: "0 to 5", "2015", "1 to 14 Mar 2015". */
function rangeText(column, first, last) {
  const [low, high] = [column.low[first], column.high[last]];
  if (column.type === "date") return daysText(low, high);
  if (column.type === "datetime") return low === high ? momentText(low) : `${momentText(low)} to ${momentText(high)}`;
  if (low === high) return plain(low);
  const after = column.low[last + 1];
  if (isFine(column, first, last)) return `${startText(column, first)} to ${plain(after !== undefined && after - high <= 1.5 * column.spacing ? after : high)}`;
  if (column.spacing !== null) return `${plain(low)} to ${plain(high)}`;
  const text = (value, cell) => plain(Number(value.toFixed(digitsOf(column, cell))));
  return `${text(low, first)} to ${text(last === column.high.length - 1 ? high : beside(high, 1), last)}`;
}

/** Whether a number's steps are so fine that a cell ends, for people, where the next begins: 32.5 to 35, not to 34.9999. */
function isFine(column, first, last = first) {
  return column.type === "number" && column.spacing !== null && column.high[last] - column.low[first] > 20 * column.spacing;
}

/** Where a cell of fine steps begins: right above the point before it, where that is a cell of its own. */
function startText(column, cell) {
  const before = cell > 0 && column.low[cell - 1] === column.high[cell - 1] ? column.low[cell - 1] : undefined;
  return before !== undefined && column.low[cell] - before <= 1.5 * column.spacing ? `above ${plain(before)}` : plain(column.low[cell]);
}

/** As many decimals as tell the ends of a cell apart; a point has those of its neighbour. */
function digitsOf(column, cell) {
  const width = column.high[cell] - column.low[cell] || column.high[1] - column.low[1];
  return Math.min(8, Math.max(0, Math.ceil(-Math.log10(width || 1))));
}

/** A number with the digits it has; from ten thousand on, with commas. */
function plain(value) {
  const text = String(Number(value.toPrecision(12)));
  return Math.abs(value) >= 1e4 && !text.includes("e") ? text.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",") : text;
}

/** One label for several atoms. */
function labelOf(column, atoms) {
  const known = atoms.filter((atom) => !isNull(column, atom)), missing = known.length < atoms.length ? ["NULL"] : [];
  if (known.length === 0) return "NULL";
  if (isCelled(column)) return [rangeText(column, known[0], known[known.length - 1]), ...missing].join(" or ");
  const texts = known.map((atom) => valueText(column, atom));
  const run = column.ordered && texts.length > 2 && known[known.length - 1] - known[0] === known.length - 1;
  return [...(run ? [`${texts[0]} to ${texts[texts.length - 1]}`] : texts), ...missing].join(" or ");
}

/** The cells of a grouping as lists of atoms, by their first atom. */
function membersOf(groups) {
  const cells = new Map();
  groups.forEach((cell, atom) => (cells.has(cell) ? cells.get(cell).push(atom) : cells.set(cell, [atom])));
  return [...cells.values()].sort((one, other) => one[0] - other[0]);
}

const FINEST = 100; /* bars that a picture shows one by one */
const COARSE = 48; /* bars of a column that has more cells */

/** The atoms of each bar: as declared, or where these are many, in equal runs. Both ends, and NULL, stay by themselves.

    With a `trim`, all cells below and all above are a bar each. */
function barsOf(column, fine = false, trim = null) {
  const atoms = Array.from({ length: column.size }, (_, atom) => atom);
  if (fine || !isCelled(column) || (atoms.length <= FINEST && trim === null)) return atoms.map((atom) => [atom]);
  const [first, last] = trim === null ? [1, column.low.length - 2] : [Math.max(1, trim[0]), Math.min(column.low.length - 2, trim[1])], run = Math.ceil((last - first + 1) / (last - first < FINEST ? FINEST : COARSE)), bars = first > 0 ? [atoms.slice(0, first)] : [];
  for (let from = first; from <= last; from += run) bars.push(atoms.slice(from, Math.min(last + 1, from + run)));
  const above = atoms.slice(last + 1, column.low.length);
  return [...bars, ...(above.length === 0 ? [] : [above]), ...atoms.slice(column.low.length).map((atom) => [atom])];
}

const OUTSIDE = 0.001; /* of the rows, at either end of a picture, that may be drawn as one bar */

/** The cells between which nearly all rows lie, where these take less than half of the axis; else null. */
function trimOf(column) {
  if (!isCelled(column) || column.low.length < 8 || column.synthetic === undefined) return null;
  const shares = column.synthetic.slice(0, column.low.length), all = sum(shares) || 1, count = shares.length;
  let [first, last, below, above] = [0, count - 1, 0, 0];
  while (first < last && (below + shares[first]) / all <= OUTSIDE) below += shares[first++];
  while (last > first && (above + shares[last]) / all <= OUTSIDE) above += shares[last--];
  const reach = (one, other) => edgesOf(column, other)[1] - edgesOf(column, one)[0];
  return last - first >= 4 && reach(first, last) < 0.5 * reach(0, count - 1) ? [first, last] : null;
}

/** What of an axis the middle nine tenths of the rows take, by where values lie on it. */
function spreadOn(column, at, [first, last]) {
  const shares = column.synthetic.slice(0, column.low.length), all = sum(shares) || 1, ends = [];
  let below = 0;
  shares.forEach((share, cell) => {
    for (const part of [0.05, 0.95]) if (below / all < part && (below + share) / all >= part) ends.push(at(column.low[clip(cell, [first, last])]));
    below += share;
  });
  return ends.length < 2 ? 0 : ends[1] - ends[0];
}

/** An axis of a column's values: where a value lies on it, from 0 to 1, which ends are points, and round ticks.

    Cells that widen a lot with the value are drawn on a scale of logarithms, where that spreads the rows more. */
function axisOf(column, trim = null) {
  const count = column.low.length, widths = column.low.map((_, cell) => edgesOf(column, cell)).map(([low, high]) => high - low);
  const usual = [...widths].sort((one, other) => one - other)[Math.floor(count / 2)];
  const point = (cell) => count > 3 && widths[cell] < 0.5 * usual;
  const ends = [point(0) ? 1 : 0, count - 1 - (count > 1 && point(count - 1) ? 1 : 0)];
  const [first, last] = trim === null ? ends : [Math.max(trim[0], ends[0]), Math.min(trim[1], ends[1])];
  const [low, high] = [edgesOf(column, first)[0], edgesOf(column, last)[1]];
  const inner = widths.slice(first, last + 1), least = column.spacing ?? inner[0];
  const scaled = (from, to, place) => (value) => clip((place(value) - from) / (to - from || 1), [0, 1]), small = (value) => Math.log10(Math.max(value, least));
  const [plainly, logarithmic] = column.synthetic === undefined ? [0, 1] : [spreadOn(column, scaled(low, high, (value) => value), [first, last]), spreadOn(column, scaled(small(low), small(high), small), [first, last])];
  const log = low >= -least && high > 100 * least && Math.max(...inner) > 30 * Math.min(...inner) && plainly < 0.25 && logarithmic > 1.5 * plainly;
  const place = log ? (value) => Math.log10(Math.max(value, least)) : (value) => value;
  const [from, to] = [place(log ? Math.max(low, least) : low), place(high)];
  const at = (value) => Math.min(1, Math.max(0, (place(value) - from) / (to - from || 1)));
  const ticks = (most) => {
    if (log) return logTicks(from, to, most);
    if (column.type === "date") return dayTicks(low, high, most);
    if (column.type === "datetime") return dayTicks(low / (1000 * DAY), high / (1000 * DAY), most).map(({ at: day, text }) => ({ at: day * 1000 * DAY, text }));
    const near = (high - low) / 1000; /* an axis from 0.0001 on begins at 0, for people */
    return ticksOf(low - near, high + near, most, column.type === "integer").map((value) => ({ at: value, text: tickText(value) }));
  };
  return { at, ticks, log, points: { low: first > 0, high: last < count - 1 }, first, last };
}

/** Powers of ten between two of them. */
function logTicks(from, to, most) {
  const first = Math.ceil(from - 1e-9), count = Math.floor(to + 1e-9) - first + 1, step = Math.max(1, Math.ceil(count / most));
  return Array.from({ length: Math.max(0, Math.ceil(count / step)) }, (_, place) => 10 ** (first + place * step)).map((value) => ({ at: value, text: tickText(value) }));
}
