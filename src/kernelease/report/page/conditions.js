/* Conditions as people write them, read into tests of single columns.

   The page reads what the command line reads, and a little more: = for ==, <> for !=, between … and …, dates and values
   without quotes, AND in capitals. `text` is then the same condition as the command line has it. */

class NotHere extends Error {} /* a question for the command line */
class Unreadable extends Error {} /* a text that is no condition */

const TOKEN = /\s*(?:(<=|>=|==|!=|<>|[<>=(),])|(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)(?![\p{L}\p{N}_.-])|((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\p{L}\p{N}_.])|'((?:[^']|'')*)'|"((?:[^"]|"")*)"|`([^`]*)`|([\p{L}_][\p{L}\p{N}_]*(?:[.\-]+[\p{L}\p{N}_]+)*)|([+\-*/]))/uy;
const WORDS = new Set(["and", "or", "not", "in", "is", "null", "true", "false", "if", "then", "between"]);
const MIRROR = { "<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!=" };
const ALIASES = { "=": "==", "<>": "!=" };

function tokensOf(text) {
  const found = [], end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex, match = TOKEN.exec(text);
    if (match === null) throw new Unreadable(`It can't be read from “${short(text.slice(from).trim())}” on.`);
    const [, sign, date, number, quoted, double, ticked, word, arithmetic] = match;
    if (sign !== undefined) found.push({ kind: "sign", text: ALIASES[sign] ?? sign });
    else if (date !== undefined) found.push({ kind: "value", value: date.replace(" ", "T"), text: date });
    else if (number !== undefined) found.push({ kind: "value", value: Number(number), text: number });
    else if (quoted !== undefined) found.push({ kind: "value", value: quoted.replaceAll("''", "'"), text: quoted });
    else if (double !== undefined) found.push({ kind: "name", text: double.replaceAll('""', '"') });
    else if (ticked !== undefined) found.push({ kind: "name", text: ticked });
    else if (word !== undefined) found.push(WORDS.has(word.toLowerCase()) ? { kind: "word", text: word.toLowerCase() } : { kind: "name", text: word });
    else found.push({ kind: "arithmetic", text: arithmetic });
  }
  return found;
}

/** The condition that a text says; `Unreadable`, or `NotHere` where the page has no answer to such a thing. */
function conditionOf(text) {
  const tokens = tokensOf(text);
  let place = 0;
  const peek = () => tokens[place] ?? { kind: "end", text: "the end" };
  const took = (wanted) => peek().text === wanted && ["sign", "word"].includes(peek().kind) && ++place > 0;
  const expect = (wanted) => {
    if (!took(wanted)) throw new Unreadable(`“${wanted}” is expected, not “${short(peek().text)}”.`);
  };

  function operand() {
    let sign = 1;
    while (peek().kind === "arithmetic" && "+-".includes(peek().text)) sign *= tokens[place++].text === "-" ? -1 : 1;
    const token = peek();
    place++;
    if (token.kind === "value") return { value: typeof token.value === "number" ? sign * token.value : token.value };
    if (token.kind === "word" && ["true", "false"].includes(token.text)) return { value: token.text === "true" };
    if (token.kind === "name") {
      if (peek().text === "(" || DATA.derived.includes(token.text)) throw new NotHere("What is computed from columns is answered by the command line.");
      const column = DATA.columns.findIndex((one) => one.name === token.text);
      return column < 0 ? { value: token.text, word: true } : { column };
    }
    if (token.text === "null") throw new Unreadable("Nothing compares with null: ask for is null or is not null.");
    throw new Unreadable(`A column or a value is expected, not “${short(token.text)}”.`);
  }

  function test() {
    if (took("(")) {
      const inner = either();
      expect(")");
      return inner;
    }
    if (took("not")) return negated(test());
    const left = operand();
    if (peek().kind === "arithmetic") throw new NotHere("The page does not compute with columns.");
    if (took("is")) {
      const negative = took("not");
      expect("null");
      return nullTest(left, negative);
    }
    const without = took("not");
    const found = took("in") ? listTest(left) : took("between") ? rangeTest(left) : null;
    if (found !== null) return without ? negated(found) : found;
    const sign = peek().text;
    if (without || !(sign in MIRROR)) throw new Unreadable(`A comparison is expected, not “${short(sign)}”.`);
    place++;
    const right = operand();
    if (peek().kind === "arithmetic") throw new NotHere("The page does not compute with columns.");
    return left.column === undefined && right.column !== undefined ? compared(right, MIRROR[sign], left) : compared(left, sign, right);
  }

  function listTest(left) {
    const parts = [];
    expect("(");
    do parts.push(compared(left, "==", operand())); while (took(","));
    expect(")");
    return { ...joined(parts, false), text: `${parts[0].spelled} in (${parts.map((part) => part.literal).join(", ")})` };
  }

  function rangeTest(left) {
    const low = compared(left, ">=", operand());
    expect("and");
    return joined([low, compared(left, "<=", operand())], true);
  }

  function chain(word, part, every) {
    const parts = [part()];
    while (took(word)) parts.push(part());
    return parts.length === 1 ? parts[0] : joined(parts, every);
  }
  const both = () => chain("and", test, true);
  const either = () => chain("or", both, false);

  function whole() {
    if (!took("if")) return either();
    const when = either();
    expect("then");
    const then = either();
    return { ...joined([negated(when), then], false), text: `if ${when.text} then ${then.text}` };
  }

  const condition = whole();
  if (place < tokens.length) throw new Unreadable(`“${short(peek().text)}” is not expected there.`);
  return condition;
}

/* ---- What a condition is: tests of single columns, and how their outcomes (1, 0, null: not known) are joined. */

let tests = 0;

function leafOf(place, test, text, marks = []) {
  const leaf = { place, test, marks, id: tests++ };
  return { leaves: [leaf], holds: (outcomes) => outcomes[leaf.id], columns: [place], text, spelled: DATA.columns[place].spelled };
}

function columnsIn(parts) {
  return [...new Set(parts.flatMap((part) => part.columns))].sort((one, other) => one - other);
}

function joined(parts, every) {
  const decides = every ? 0 : 1;
  return { leaves: parts.flatMap((part) => part.leaves), columns: columnsIn(parts), text: parts.map((part) => bracketed(part, every)).join(every ? " and " : " or "), every,
    holds: (outcomes) => {
      let result = 1 - decides;
      for (const part of parts) {
        const found = part.holds(outcomes);
        if (found === decides) return decides;
        if (found === null) result = null;
      }
      return result;
    } };
}

function bracketed(part, every) {
  return part.every === undefined || part.every === every ? part.text : `(${part.text})`;
}

function negated(part) {
  return { ...part, every: undefined, text: `not (${part.text})`, holds: (outcomes) => {
    const found = part.holds(outcomes);
    return found === null ? null : 1 - found;
  } };
}

/** The condition that a column's value is one of some atoms. */
function among(place, atoms) {
  const chosen = new Set(atoms);
  return leafOf(place, ({ atom }) => (chosen.has(atom) ? 1 : 0), "");
}

function nullTest(left, negative) {
  if (left.column === undefined) throw unknownName(left);
  const column = DATA.columns[left.column];
  return leafOf(left.column, ({ atom }) => Number(isNull(column, atom) !== negative), `${column.spelled} is ${negative ? "not " : ""}null`);
}

function unknownName({ value, word }) {
  const near = word ? nearestName(value) : null;
  return new Unreadable(word ? `There is no column “${short(value)}”.${near === null ? "" : ` Is it ${near}?`} Text goes in single quotes.` : "A comparison needs a column; text goes in single quotes.");
}

/** The column whose name begins alike, or has as many letters in common. */
function nearestName(word) {
  const low = word.toLowerCase(), names = DATA.columns.map((column) => column.spelled);
  return names.find((name) => name.toLowerCase() === low) ?? names.find((name) => low.length > 1 && (name.toLowerCase().startsWith(low) || low.startsWith(name.toLowerCase()))) ?? null;
}

function compared(left, sign, right) {
  if (left.column === undefined) throw unknownName(left);
  if (right.column !== undefined) throw new NotHere("The page does not compare two columns with each other.");
  const column = DATA.columns[left.column], key = keyOf(column, right.value, sign), literal = literalOf(column, right.value);
  const holds = (order) => Number({ "==": order === 0, "!=": order !== 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0 }[sign]);
  const own = isCelled(column) ? ({ value }) => value : ({ atom }) => atom;
  const test = (point) => (isNull(column, point.atom) ? null : holds(Math.sign(own(point) - key)));
  return { ...leafOf(left.column, test, `${column.spelled} ${sign} ${literal}`, isCelled(column) ? [key] : []), literal };
}

function literalOf(column, value) {
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** What a literal is among a column's own numbers: its place in a list, a number, days or microseconds. */
function keyOf(column, value, sign) {
  if (!isCelled(column)) {
    if (column.values.length === 0) throw new NotHere("Single values of this column are for the command line: the page has groups of them.");
    if (!column.ordered && !["==", "!="].includes(sign)) throw new Unreadable(`“${short(column.name)}” has no order: it is compared by = and !=.`);
    const found = column.values.findIndex((one) => one === value);
    if (found < 0 || value === null) throw new Unreadable(`“${short(String(value))}” is no value of “${short(column.name)}”. ${valuesHint(column)}`);
    return found;
  }
  if (["integer", "number"].includes(column.type)) {
    if (typeof value !== "number") throw new Unreadable(`“${short(column.name)}” is compared with numbers, such as ${plain(middleOf(column))}.`);
    return value;
  }
  const match = typeof value === "string" && /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(value);
  if (!match) throw new Unreadable(`A date is written ${dayLiteral(column, middleOf(column))} here.`);
  const [year, month, day, hour, minute, second] = match.slice(1).map((part) => Number(part ?? 0));
  const moment = Date.UTC(year, month - 1, day, hour, minute, second);
  return column.type === "date" ? moment / DAY : moment * 1000;
}

/** A value near the middle of what was declared, in round numbers where they are in it. */
function middleOf(column) {
  const [low, high] = [column.low[0], column.high[column.high.length - 1]], middle = column.low[Math.floor(column.low.length / 2)];
  if (["date", "datetime"].includes(column.type)) {
    const unit = column.type === "date" ? 1 : 1000 * DAY, year = daysOf(partsOf(middle / unit).year) * unit;
    return year > low ? year : middle;
  }
  const round = ticksOf(low, high, 4, column.type === "integer");
  return round[Math.floor(round.length / 2)] ?? middle;
}

function dayLiteral(column, value) {
  return `'${new Date(column.type === "date" ? value * DAY : value / 1000).toISOString().slice(0, 10)}'`;
}

function valuesHint(column) {
  const known = column.values.filter((value) => value !== null).slice(0, 4).map((value) => short(literalOf(column, value), 30));
  return known.length === 0 ? "" : `There ${column.values.length > 4 ? "are, among others," : known.length === 1 ? "is" : "are"} ${known.join(", ")}.`;
}

/** A condition on this column that can be answered, to begin with. */
function exampleOf(column) {
  if (column.type === "boolean") return `${column.spelled} = true`;
  if (!isCelled(column)) return `${column.spelled} = ${literalOf(column, column.values.find((value) => value !== null) ?? "")}`;
  const middle = middleOf(column);
  return `${column.spelled} > ${["date", "datetime"].includes(column.type) ? dayLiteral(column, middle) : middle}`;
}

/* ---- Conditions on the cells of a marginal. */

const EVEN = 5; /* values spread over each cell, both ends among them */

/** Values that stand for the rows of each cell, and those around every number that a test compares with. */
function pointsOf(place, leaves, groups = null) {
  const column = DATA.columns[place], shares = atomShares(place), points = [];
  if (!isCelled(column)) return Array.from(shares, (weight, atom) => ({ atom, weight, loose: weight }));
  const places = groups === null ? shares : hiddenPlaces(place, groups);
  const { low, high, spacing } = column, [first, last] = [low[0], high[high.length - 1]];
  const digits = spacing === null ? null : Math.min(100, Math.max(0, 10 - Math.floor(Math.log10(spacing))));
  const legal = (value) => (digits === null ? value : Number(value.toFixed(digits)));
  const marks = leaves.flatMap((leaf) => leaf.marks).map((mark) => clip(mark, [first, last])).flatMap((mark) => {
    if (spacing === null) return [beside(mark, -1), mark, beside(mark, 1)];
    const level = Math.floor((mark - first) / spacing + 1e-9);
    return [-1, 0, 1].map((step) => legal(first + (level + step) * spacing));
  }).map((mark) => clip(mark, [first, last]));
  const held = low.map(() => new Set()), [down, up] = (column.slips ?? [[], []]).map((cells) => new Set(cells));
  low.forEach((least, atom) => {
    for (let step = 0; step < EVEN; step++) {
      const even = least + ((high[atom] - least) * step) / (EVEN - 1);
      const value = step === EVEN - 1 ? high[atom] : spacing === null ? even : legal(least + halfEven((even - least) / spacing) * spacing);
      held[atom - (step === 0 && down.has(atom) ? 1 : 0) + (step === EVEN - 1 && up.has(atom) ? 1 : 0)].add(value);
    }
  });
  held.forEach((own, atom) => {
    for (const mark of marks) if (mark >= low[atom] && mark <= high[atom]) own.add(mark);
    const values = [...own].sort((one, other) => one - other), lengths = lengthsOf(values, spacing), all = sum(lengths);
    values.forEach((value, order) => points.push({ atom, value, weight: (shares[atom] * lengths[order]) / all, loose: (places[atom] * lengths[order]) / all }));
  });
  if (column.nullable) points.push({ atom: column.size - 1, value: NaN, weight: shares[column.size - 1], loose: places[column.size - 1] });
  return points;
}

/** How much of its atom each of some numbers, in order, is the nearest of: as long a part, or so many legal values. */
function lengthsOf(values, spacing) {
  if (values.length === 1) return [1];
  const gap = (order) => (order === 0 || order === values.length ? spacing ?? 0 : values[order] - values[order - 1]);
  return values.map((_, order) => (gap(order) + gap(order + 1)) / 2);
}

/** Rounded to a whole number; halves to the even one, as the library does. */
function halfEven(value) {
  const below = Math.floor(value), rest = value - below;
  return rest === 0.5 ? below + (below % 2) : Math.round(value);
}

/** For each cell of a column, the different outcomes of tests that its values have, each with its weight. */
function outcomesOf(marginal, axis, leaves) {
  const place = marginal.columns[axis], own = leaves.filter((leaf) => leaf.place === place), cells = Array.from({ length: marginal.sizes[axis] }, () => new Map());
  for (const point of pointsOf(place, own, marginal.groups[axis])) {
    const outcomes = own.map((leaf) => leaf.test(point)), key = outcomes.join(), cell = cells[marginal.groups[axis][point.atom]], known = cell.get(key) ?? { outcomes, weight: 0, loose: 0 };
    cell.set(key, { outcomes, weight: known.weight + point.weight, loose: known.loose + point.loose });
  }
  return { own, cells: cells.map((cell) => [...cell.values()]) };
}

/** Numerator and denominator as functions of the cells: the likely, the least and the greatest; `possible` is null where no row can be. */
function functionsOf(marginal, numerator, denominator) {
  const leaves = [...(numerator?.leaves ?? []), ...(denominator?.leaves ?? [])];
  const axes = marginal.columns.map((_, axis) => outcomesOf(marginal, axis, leaves)), found = [];
  const cells = Array.from({ length: marginal.size }, (_, cell) => {
    const places = axes.length === 1 ? [cell] : [Math.floor(cell / marginal.sizes[1]), cell % marginal.sizes[1]], kinds = [];
    const walk = (axis, weight, loose) => {
      if (axis === axes.length) {
        const below = denominator === null || denominator.holds(found) === 1 ? 1 : 0;
        kinds.push({ above: below === 1 && (numerator === null || numerator.holds(found) === 1) ? 1 : 0, below, weight, loose });
        return;
      }
      const { own, cells: held } = axes[axis];
      for (const kind of held[places[axis]]) {
        own.forEach((leaf, order) => { found[leaf.id] = kind.outcomes[order]; });
        walk(axis + 1, weight * kind.weight, loose * kind.loose);
      }
    };
    walk(0, 1, 1);
    return kinds;
  });
  const every = cells.flat().filter((kind) => kind.below === 1).map((kind) => kind.above);
  const picked = (score) => {
    const best = cells.map((kinds) => kinds.reduce((least, kind) => (score(kind) < score(least) ? kind : least), kinds[0]));
    return [Float64Array.from(best, (kind) => kind.above), Float64Array.from(best, (kind) => kind.below)];
  };
  const average = (part) => Float64Array.from(cells, (kinds) => sum(kinds.map((kind) => kind.weight * kind[part])) / sum(kinds.map((kind) => kind.weight)));
  const exact = cells.every((kinds) => kinds.every((kind) => kind.above === kinds[0].above && kind.below === kinds[0].below));
  const likely = exact ? picked(() => 0) : [average("above"), average("below")];
  const split = axes.some(({ cells: held }, axis) => !isCelled(DATA.columns[marginal.columns[axis]]) && held.some((kinds) => kinds.length > 1));
  const varies = (part, one, other) => Float64Array.from(cells, (kinds, cell) => sum(kinds.map((kind) => kind[part] * away(kind, cell, one) * away(kind, cell, other))) / sum(kinds.map((kind) => kind[part])));
  const away = (kind, cell, which) => kind[which] - likely[which === "above" ? 0 : 1][cell];
  const spread = (part) => [["above", "above"], ["above", "below"], ["below", "below"]].map((pair) => varies(part, ...pair));
  return {
    exact, settled: exact || !split, spread: exact ? null : spread("weight"), hiddenSpread: exact ? null : spread("loose"), middle: likely, possible: every.length === 0 ? null : [Math.min(...every), Math.max(...every)],
    least: (ratio) => (exact ? likely : picked((kind) => kind.above - ratio * kind.below)),
    greatest: (ratio) => (exact ? likely : picked((kind) => ratio * kind.below - kind.above)),
    everyCut: cells.every((kinds) => kinds.some((kind) => kind.above !== kinds[0].above)),
  };
}
