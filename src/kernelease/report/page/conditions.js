/* Conditions, in the language of the command line, as far as cells of one or two columns can answer them.

   A condition is { columns, at }: `at` takes an atom of each column (by its place in the schema) and says 1, 0, null
   (not known, as of NULL) or NaN (the cell is cut: some of its values fulfil the condition, and some do not). */

class NotHere extends Error {} /* a question for the command line */
class Unreadable extends Error {} /* a text that is no condition */

const TOKEN = /\s*(?:(<=|>=|==|!=|[<>(),])|((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\p{L}\p{N}_.])|'((?:[^']|'')*)'|"((?:[^"]|"")*)"|`([^`]*)`|([\p{L}_][\p{L}\p{N}_]*(?:[.\-]+[\p{L}\p{N}_]+)*)|([+\-*/]))/uy;
const WORDS = new Set(["and", "or", "not", "in", "is", "null", "true", "false", "if", "then"]);
const MIRROR = { "<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!=" };

function tokensOf(text) {
  const found = [], end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex, match = TOKEN.exec(text);
    if (match === null) throw new Unreadable(`It can't be read from “${short(text.slice(from).trim())}” on.`);
    const [, sign, number, quoted, double, ticked, word, arithmetic] = match;
    if (sign !== undefined) found.push({ kind: "sign", text: sign });
    else if (number !== undefined) found.push({ kind: "value", value: Number(number), text: number });
    else if (quoted !== undefined) found.push({ kind: "value", value: quoted.replaceAll("''", "'"), text: quoted });
    else if (double !== undefined) found.push({ kind: "name", text: double.replaceAll('""', '"') });
    else if (ticked !== undefined) found.push({ kind: "name", text: ticked });
    else if (word !== undefined) found.push({ kind: WORDS.has(word) ? "word" : "name", text: word });
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
      if (column < 0) throw new Unreadable(`There is no column “${short(token.text)}”. Text goes in single quotes.`);
      return { column };
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
    if (peek().kind === "arithmetic") throw new NotHere("Columns are not computed with here.");
    if (took("is")) {
      const negative = took("not");
      expect("null");
      const missing = leaf(left, (column, atom) => (isNull(column, atom) ? 1 : 0));
      return negative ? negated(missing) : missing;
    }
    const without = took("not");
    if (took("in")) {
      expect("(");
      const parts = [];
      do parts.push(compared(left, "==", operand())); while (took(","));
      expect(")");
      return without ? negated(joined(parts, false)) : joined(parts, false);
    }
    const sign = peek().text;
    if (!(sign in MIRROR)) throw new Unreadable(`A comparison is expected, not “${short(sign)}”.`);
    place++;
    const right = operand();
    if (peek().kind === "arithmetic") throw new NotHere("Columns are not computed with here.");
    return left.column === undefined ? compared(right, MIRROR[sign], left) : compared(left, sign, right);
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
    return joined([negated(when), either()], false);
  }

  const condition = whole();
  if (place < tokens.length) throw new Unreadable(`“${short(peek().text)}” is not expected there.`);
  return condition;
}

function isNull(column, atom) {
  return column.nullable && atom === column.labels.length - 1;
}

/** A condition on one column, from its outcome on each atom. */
function leaf({ column: place }, outcome) {
  if (place === undefined) throw new Unreadable("A comparison needs a column; text goes in single quotes.");
  const column = DATA.columns[place], table = column.labels.map((_, atom) => outcome(column, atom));
  return { columns: [place], at: (atoms) => table[atoms[place]] };
}

function compared(left, sign, right) {
  if (right.column !== undefined) throw new NotHere("Two columns are not compared here.");
  if (left.column === undefined) throw new Unreadable("A comparison needs a column; text goes in single quotes.");
  const column = DATA.columns[left.column], value = keyOf(column, right.value, sign);
  if (column.low === undefined) {
    return leaf(left, (_, atom) => (isNull(column, atom) ? null : outcome(sign, Math.sign(atom - value))));
  }
  return leaf(left, (_, atom) => {
    if (isNull(column, atom)) return null;
    const [low, high] = [outcome(sign, Math.sign(column.low[atom] - value)), outcome(sign, Math.sign(column.high[atom] - value))];
    const inside = column.low[atom] < value && value < column.high[atom];
    return low !== high || (inside && ["==", "!="].includes(sign)) ? NaN : low;
  });
}

function outcome(sign, order) {
  return Number({ "==": order === 0, "!=": order !== 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0 }[sign]);
}

/** What a literal is among a column's own numbers: its place in a list, a number, days or microseconds. */
function keyOf(column, value, sign) {
  if (column.low === undefined) {
    if (!column.ordered && !["==", "!="].includes(sign)) throw new Unreadable(`“${short(column.name)}” knows == and != only.`);
    const found = column.values.findIndex((one) => one === value);
    if (found < 0 && column.type === "hierarchy") throw new NotHere("Values of a hierarchy are answered by the command line.");
    if (found < 0 || value === null) throw new Unreadable(`“${short(String(value))}” is not one of the values of “${short(column.name)}”.`);
    return found;
  }
  if (["integer", "number"].includes(column.type)) {
    if (typeof value !== "number") throw new Unreadable(`“${short(column.name)}” is compared with numbers.`);
    return value;
  }
  const match = typeof value === "string" && /^(\d{4})-(\d\d)-(\d\d)$/.exec(value);
  if (!match) throw new NotHere("A date is written '2024-12-31' here.");
  const days = Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3])) / 86_400_000;
  return column.type === "date" ? days : days * 86_400_000_000;
}

function joined(parts, every) {
  const decides = every ? 0 : 1;
  const columns = [...new Set(parts.flatMap((part) => part.columns))].sort((one, other) => one - other);
  return { columns, at: (atoms) => {
    const found = parts.map((part) => part.at(atoms));
    if (found.includes(decides)) return decides;
    return found.some(Number.isNaN) ? NaN : found.includes(null) ? null : 1 - decides;
  } };
}

function negated(part) {
  return { columns: part.columns, at: (atoms) => {
    const found = part.at(atoms);
    return found === null ? null : 1 - found;
  } };
}

/** The condition that a column's value is one of some atoms. */
function among(column, atoms) {
  const chosen = new Set(atoms);
  return { columns: [column], at: (found) => (chosen.has(found[column]) ? 1 : 0) };
}
