"""The protocol: presets, what fits together, what is refused with its line and key."""

from __future__ import annotations

import pytest

from windtunnel.cluster import load_text, validate
from windtunnel.errors import DescriptionError
from windtunnel.study.file import StudyFile
from windtunnel.study.protocol import Protocol

HEAD = """\
study: toy
cluster: local-3
workloads:
  terasort: {rows: 1000, input_replication: 1, output_replication: 1}
"""


def protocol(text: str) -> Protocol:
    located = load_text(HEAD + f"protocol: {text}\n", "toy.yaml")
    return validate(StudyFile, located).protocol


def test_the_preset_of_2014_is_three_rounds_and_all_three_again() -> None:
    found = protocol("{preset: cisco-2014}")

    assert (found.rounds, found.variation_limit, found.retest) == (3, 0.2, "all again")
    assert found.extra_rounds == 3, "one whole set"


def test_a_preset_fills_only_what_the_file_leaves_open() -> None:
    found = protocol("{preset: cisco-2014, rounds: 4, variation_limit: 10 %}")

    assert (found.rounds, found.variation_limit, found.extra_rounds) == (4, 0.1, 4)


def test_our_preset_is_what_is_left_out_anyway() -> None:
    assert protocol("{preset: windtunnel}") == protocol("{}")


def test_with_detect_the_pilot_s_rounds_are_those_that_run_first() -> None:
    found = protocol("{detect: 5 %}")

    assert (found.detect, found.power) == (0.05, 0.8)
    assert (found.rounds, found.pilot_rounds, found.max_rounds) == (5, 5, 40)
    assert protocol("{detect: 5 %, pilot_rounds: 7}").rounds == 7


def test_the_record_holds_every_rule() -> None:
    record = protocol(
        "{preset: cisco-2014, pause: 5 s, restart: round, cache: drop, "
        "invalidate: {load_before_above: 4, cpu_idle_before_below: 50 %, steal_above: 20 %}}"
    ).to_record()

    assert (record.preset, record.retest, record.restart) == ("cisco-2014", "all again", "round")
    assert (record.pause_s, record.cache) == (5.0, "drop")
    assert record.invalidate == {
        "load_before_above": 4.0,
        "cpu_idle_before_below": 0.5,
        "steal_above": 0.2,
    }


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("{detect: 5 %, rounds: 3}", "rounds", "exclude each other"),
        ("{pilot_rounds: 3}", "pilot_rounds", "needs 'detect'"),
        ("{max_rounds: 3}", "max_rounds", "needs 'detect'"),
        ("{detect: 5 %, pilot_rounds: 9, max_rounds: 8}", "pilot_rounds", "more than max_rounds"),
        ("{detect: 5 %, pilot_rounds: 1}", "pilot_rounds", "at least 2"),
        ("{rounds: 10000000}", "rounds", "at most 10000, not 10000000"),
        ("{extra_rounds: 10001}", "extra_rounds", "at most 10000"),
        ("{warmup: 10001}", "warmup", "at most 10000"),
        ("{retry_invalid: 10001}", "retry_invalid", "at most 10000"),
        ("{detect: 5 %, max_rounds: 10001}", "max_rounds", "at most 10000"),
        ("{trial_time_limit: 0 s}", "trial_time_limit", "must be at least 1 s"),
        ("{trial_time_limit: 0.001 s}", "trial_time_limit", "must be at least 1 s"),
        ("{detect: 0 %}", "detect", "more than 0 %"),
        ("{detect: 5 %, power: 100 %}", "power", "below 100 %"),
        ("{detect: 5 %, retest: all again}", "retest", "exclude each other"),
        ("{retest: all again, rounds: 3, extra_rounds: 2}", "extra_rounds", "3 more rounds"),
        ("{preset: cisco}", "preset", "cisco-2014"),
        ("{restart: always}", "restart", "never, round, trial"),
        ("{restart: round, warmup: 1}", "warmup", "no effect with 'restart: round'"),
        ("{pause: 5}", "pause", "unit"),
        ("{cache: cold}", "cache", "larger-than-memory"),
        ("{invalidate: {load_before_abov: 4}}", "invalidate.load_before_abov", "load_before_above"),
        ("{invalidate: {load_before_above: 0}}", "invalidate.load_before_above", "more than 0"),
        ("{invalidate: {load_before_above: yes}}", "invalidate.load_before_above", "a number"),
        ("{invalidate: {steal_above: much}}", "invalidate.steal_above", "fraction"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_key(text: str, key: str, says: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        protocol(text)

    assert (caught.value.key, caught.value.line) == (f"protocol.{key}", 5)
    assert says in caught.value.render()
