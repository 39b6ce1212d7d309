"""Sentences in other words: factors without digits, verbs of change.

"Twice as fast as" becomes "2 times faster than", so that one grammar of claims is enough. The
result is in lower case.
"""

from __future__ import annotations

import re

_COUNTED = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
NUMERALS = {"one": "1"} | {word: str(number) for number, word in enumerate(_COUNTED, 2)}
_MEASURE = r"(time|duration|runtime|throughput|bandwidth|rate|energy|power|price|cost)"
_TIMES = r"\b(\d+(?:\.\d+)?) times "
_COMPARED = {
    "fast": "faster",
    "quick": "faster",
    "slow": "slower",
    "long": "more time",
    "much time": "more time",
}

_REWRITTEN: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\b(?:by )?a factor of (\d+(?:\.\d+)?)(?! ?%)\b", r"\1 times"),
        (r"\btwice (?=as\b|the\b)", "2 times "),
        (r"\bhalf as (?:fast|quick)\b", "2 times as slow"),
        (r"\bhalf as (?:long|much time)\b", "2 times as fast"),
        (rf"\bhalf (?:of )?the {_MEASURE}\b", r"2 times less \1"),
        (r"\bdoubl(?:es|ed)(?: the)?\b", "2 times more"),
        (r"\btripl(?:es|ed)(?: the)?\b", "3 times more"),
        (r"\bhalve[sd](?: the)?\b", "2 times less"),
        (_TIMES + rf"the {_MEASURE} of\b", r"\1 times more \2 than"),
        (_TIMES + rf"the {_MEASURE}\b", r"\1 times more \2"),
        (r"\b(?:speeds?|sped) up\b", "faster"),
        (r"\bslow(?:s|ed)? down\b", "slower"),
    )
)
_SPELT_TIMES = re.compile(rf"\b({'|'.join(_COUNTED)}) times\b")
_AS = re.compile(_TIMES + rf"as ({'|'.join(_COMPARED)})\b(.*?)(\bas\b|$)", re.DOTALL)


def reworded(sentence: str) -> str:
    """A sentence in lower case, with factors as digits and its verbs of change as comparisons."""
    words = _SPELT_TIMES.sub(lambda found: f"{NUMERALS[found[1]]} times", sentence.casefold())
    for pattern, text in _REWRITTEN:
        words = pattern.sub(text, words)
    return _AS.sub(_than, words)


def _than(found: re.Match[str]) -> str:
    than = "than" if found[4] else ""
    return f"{found[1]} times {_COMPARED[found[2]]}{found[3]}{than}"
