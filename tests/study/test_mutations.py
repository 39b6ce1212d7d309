"""Files of the catalogue with random mistakes: each ends in a plan or in one clear message."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from windtunnel.cluster import load_text, validate
from windtunnel.errors import DescriptionError, WindtunnelError
from windtunnel.study.file import StudyFile, catalogue_names, catalogue_text
from windtunnel.study.plan import make_plan

SEED = 20_261_122
EACH = 12
PIECES = (
    *("", " ", "\n", "\t", ":", "-", "#", "'", '"', "[", "]", "{", "}", "&a", "*a", "!!int", "|"),
    *("null", "true", "0", "-1", "1e999", ".nan", "2026-11-22", "0x10", "1:20", "~", "<<: *a"),
    *('"\\ud83d"', '"\\udc00x"', "\u0000", "\ufeff", "\u2028", "é", "9" * 400, "a." * 50),
)


def mutated(text: str, chance: random.Random) -> str:
    """The text with one to three pieces put in, taken out or written over."""
    for _ in range(chance.randint(1, 3)):
        begin = chance.randrange(len(text))
        end = begin + chance.choice((0, 1, 1, 4, 20))
        text = text[:begin] + chance.choice(PIECES) + text[end:]
    return text


def cases() -> Iterator[tuple[str, str]]:
    chance = random.Random(SEED)
    for name in catalogue_names("studies"):
        for _ in range(EACH):
            yield name, mutated(catalogue_text("studies", name), chance)


def test_a_study_with_mistakes_is_a_plan_or_one_message() -> None:
    outcomes = {"plan": 0, "message": 0}
    for name, text in cases():
        try:
            located = load_text(text, f"{name}.yaml")
            make_plan(validate(StudyFile, located), located)
            outcomes["plan"] += 1
        except WindtunnelError as error:
            assert error.render().encode(), "it can be printed"
            outcomes["message"] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error} for:\n{text}") from error
    assert min(outcomes.values()) > 20, outcomes


@pytest.mark.parametrize(
    "text", ['study: "\\ud83d"', '"\\ud83d": x', 'study: ["a", "b\\udc00c"]', 'a: {b: "\\udfff"}']
)
def test_half_a_surrogate_pair_is_named_with_its_line(text: str) -> None:
    with pytest.raises(DescriptionError, match="is not a character") as caught:
        load_text(f"# first\n{text}", "x.yaml")
    assert caught.value.line == 2
    assert "\\ud" in caught.value.render().encode().decode()


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert load_text('a: "\\U0001f600"').data == {"a": "\U0001f600"}
