"""A question as it is typed: its words, its columns, and groups beside one of them."""

import re

from kernelease.cli.work.questions import QUESTIONS, Answer
from kernelease.errors import ParameterError
from kernelease.table.columns.spelling import nearest

_CALL = re.compile(r"\s*([\w-]+)\s*\((.*)\)\s*", re.DOTALL)


def read_question(question: str, operands: list[str]) -> tuple[str, list[str]]:
    """The question and its operands, written as words or as a call."""
    call = _CALL.fullmatch(question)
    if call is not None and not operands:
        question = call[1]
        listed = question in QUESTIONS and QUESTIONS[question].listed
        operands = [part.strip() for part in call[2].split(",")] if listed else [call[2].strip()]
    names = tuple(QUESTIONS)
    if question not in names:
        raise ParameterError(f"query: must be one of {', '.join(names)}, got {question!r}.{nearest(question, names)}")
    operands = [operand for operand in operands if operand]
    known = QUESTIONS[question]
    if not known.least <= len(operands) <= known.most:
        raise ParameterError(f"query: {question} takes {known.example}; got {len(operands)} operands.")
    return question, operands


def refuse(by: str | list[str] | None, minus: str | None, over: str | None) -> None:
    """Refuse a comparison of groups that are not there."""
    if minus is not None and over is not None:
        raise ParameterError("query: take --minus or --over, not both.")
    if by is None and (minus is not None or over is not None):
        raise ParameterError("query: --minus and --over compare groups. Say by which columns with --by.")


def compared(answer: Answer, minus: str | None, over: str | None) -> Answer:
    """The groups beside one of them."""
    from kernelease.analysis.coefficients import RegressionGroups  # a question is read without them
    from kernelease.analysis.groups import Groups, joined

    text = over if minus is None else minus
    if text is None or not isinstance(answer, Groups | RegressionGroups):
        return answer
    words = [part.strip() for part in text.split(",")]
    label = next((one for one in answer if joined(one) in (text, ", ".join(words))), text)
    return answer.over(label) if minus is None else answer.minus(label)


def grouping(by: str) -> str | list[str]:
    """One column, or several with commas between them."""
    names = [name.strip() for name in by.split(",")]
    return names if len(names) > 1 else by
