"""The language of conditions on one row: the rules of a schema, and what an analyst asks about.

    condition   "if" condition "then" condition | any
    any         every { "or" every }
    every       negation { "and" negation }
    negation    "not" negation | test
    test        term ("==" | "!=" | "<" | "<=" | ">" | ">=") term
                | column ["not"] "in" "(" literal { "," literal } ")"
                | column "is" ["not"] "null"
                | "(" condition ")"
    term        factor { ("+" | "-") factor }
    factor      sign { ("*" | "/") sign }
    sign        ["+" | "-"] sign | part "(" column ")" | column | literal | "(" term ")"
    part        "year" | "month" | "day" | "weekday" | "hour" | "minute" | "date"

Literals are numbers, 'text' (dates are text: '2024-12-31'), true and false. A column whose name is no plain word, or is
a word of the language, goes in double quotes or backticks. Logic is that of SQL: a test of NULL is neither true nor
false. Nothing is evaluated but this grammar, in time that grows with the length of the text.

The tree has no more kinds than it needs: `x in (a, b)` is `x == a or x == b`, `if a then b` is `not a or b`,
`x is not null` is `not x is null`, `-x` is `0 - x`, `5 < x` is `x > 5`, and numbers alone are computed at once.
"""
