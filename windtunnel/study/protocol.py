"""The protocol: how the trials of a study are run, fixed before the first one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from windtunnel.cluster import Duration, Fraction, blame
from windtunnel.results.record import ProtocolRecord
from windtunnel.study.closed import Closed

# What a preset sets where the study file does not. ``windtunnel`` is the fields' own defaults.
# ``cisco-2014``: Cisco, Intel and Cloudera's procedure of 2014: three runs, and "more than 20 %:
# run all three again" (workbook sheet "Benchmarking Procedure").
PRESETS: dict[str, dict[str, Any]] = {
    "windtunnel": {},
    "cisco-2014": {
        "rounds": 3,
        "variation_limit": "20 %",
        "retest": "all again",
    },
}
# Where `detect` is given: rounds of the pilot, and the most rounds that a study may grow to.
_PILOT_ROUNDS = 5
_MAX_ROUNDS = 40


def _plain_number(given: object) -> object:
    """``4.0`` and ``4`` are loads; ``true`` is none."""
    if isinstance(given, bool):
        raise blame("must be a number, not a truth", remedy="write a load such as 4")
    return given


class Invalidate(Closed):
    """Rules, stated beforehand, by which a disturbed trial is invalid. None are set by default.

    The numbers are those of the machine that runs the trials; a number that is not known
    invalidates nothing, and the trial says so.
    """

    load_before_above: Annotated[float, BeforeValidator(_plain_number)] | None = Field(
        None, gt=0, description="Load average (1 min) just before the trial."
    )
    cpu_idle_before_below: Fraction | None = Field(
        None, description="Idle share of the CPUs just before the trial."
    )
    steal_above: Fraction | None = Field(
        None, description="Share of CPU time that the hypervisor took during the trial."
    )

    def rules(self) -> dict[str, float]:
        """The rules that are set: name -> limit."""
        return {name: limit for name, limit in self if limit is not None}


class Protocol(Closed):
    """How the trials are run; fixed before the first one."""

    preset: Literal["windtunnel", "cisco-2014"] = Field(
        "windtunnel", description="Sets what this file does not: ours, or the rule of 2014."
    )
    rounds: PositiveInt = Field(3, description="Passes over all treatments in random order.")
    seed: int = Field(1, description="Seed of the random order.")
    warmup: int = Field(
        0,
        ge=0,
        description="Passes that come first and are never averaged; run again where a study "
        "goes on after a stop, since its daemons are new.",
    )
    variation_limit: Fraction = Field(
        "20 %",
        description="Coefficient of variation above which a cell gets extra rounds.",
        validate_default=True,
    )
    extra_rounds: int = Field(
        2,
        ge=0,
        description="Most extra rounds of the noisy cells; with 'retest: all again' and left "
        "out: as many as rounds.",
    )
    retest: Literal["noisy cells", "all again"] = Field(
        "noisy cells",
        description="A cell above the limit gets one more round at a time, or all of its "
        "rounds again. No trial is dropped either way.",
    )
    trial_time_limit: Duration = Field(
        "30 min", description="A trial that takes longer is invalid.", validate_default=True
    )
    retry_invalid: int = Field(
        1, ge=0, description="How often the slot of an invalid trial is run again."
    )
    cache: Literal["warm", "drop", "larger-than-memory"] = Field(
        "warm",
        description="Page cache before each phase: left as it is; dropped (root); or left as "
        "it is with data that it cannot hold (refused if the memory could).",
    )
    pause: Duration = Field(
        "0 s",
        description="Time between two trials, for the machine to settle.",
        validate_default=True,
    )
    restart: Literal["never", "round", "trial"] = Field(
        "never", description="Start the cluster anew before each round or each trial (nesting)."
    )
    invalidate: Invalidate = Field(
        default_factory=lambda: Invalidate.model_validate({}),
        description="Rules by which a disturbed trial is invalid.",
    )
    detect: Fraction | None = Field(
        None,
        description="Smallest difference in elapsed time that the study must see: a pilot "
        "then decides the number of rounds, once, from its spread alone.",
    )
    power: Fraction = Field(
        "80 %",
        description="Chance of seeing a difference as large as 'detect'; at least 50 %.",
        validate_default=True,
    )
    pilot_rounds: int | None = Field(
        None, ge=2, description=f"Rounds of the pilot, with 'detect': left out, {_PILOT_ROUNDS}."
    )
    max_rounds: int | None = Field(
        None, ge=2, description=f"Most rounds, with 'detect': left out, {_MAX_ROUNDS}."
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: object) -> object:
        """What the preset sets, then what the file says; the pilot's rounds with ``detect``."""
        if not isinstance(given, dict):
            return given
        preset = given.get("preset", "windtunnel")
        filled = {**PRESETS.get(preset if isinstance(preset, str) else "", {}), **given}
        if filled.get("retest") == "all again":
            filled.setdefault("extra_rounds", filled.get("rounds", 3))
        if given.get("detect") is None:
            return filled
        if "rounds" in given:
            raise blame(
                "'rounds' and 'detect' exclude each other: with 'detect' the pilot decides "
                "the number of rounds",
                "rounds",
                remedy="leave 'rounds' out, or set 'pilot_rounds' and 'max_rounds'.",
            )
        filled.setdefault("pilot_rounds", _PILOT_ROUNDS)
        filled.setdefault("max_rounds", _MAX_ROUNDS)
        if isinstance(filled["pilot_rounds"], int):
            filled["rounds"] = max(1, filled["pilot_rounds"])
        return filled

    @model_validator(mode="after")
    def _fits_together(self) -> Protocol:
        if self.detect is None:
            for name in ("pilot_rounds", "max_rounds"):
                if getattr(self, name) is not None:
                    raise blame(f"'{name}' needs 'detect'", name, remedy="add 'detect: 5 %'.")
        elif self.detect <= 0:
            raise blame("must be more than 0 %", "detect", remedy="write 'detect: 5 %'.")
        elif (self.pilot_rounds or 0) > (self.max_rounds or 0):
            raise blame(
                f"is {self.pilot_rounds}, more than max_rounds ({self.max_rounds})",
                "pilot_rounds",
                remedy="allow more rounds, or make the pilot shorter.",
            )
        if not 0.5 <= self.power < 1:
            raise blame(
                "must be at least 50 % and below 100 %", "power", remedy="write 'power: 80 %'."
            )
        if self.retest == "all again" and self.detect is not None:
            raise blame(
                "'all again' and 'detect' exclude each other: with 'detect' the pilot decides "
                "the number of rounds",
                "retest",
                remedy="leave one of them out.",
            )
        if self.retest == "all again" and 0 < self.extra_rounds < self.rounds:
            raise blame(
                f"'all again' means {self.rounds} more rounds of a cell, and extra_rounds allows "
                f"{self.extra_rounds}",
                "extra_rounds",
                remedy=f"set it to {self.rounds}, or to 0 for no retest.",
            )
        return self

    def to_record(self) -> ProtocolRecord:
        """The protocol as a results folder keeps it."""
        return ProtocolRecord(
            rounds=self.rounds,
            seed=self.seed,
            warmup=self.warmup,
            variation_limit=self.variation_limit,
            extra_rounds=self.extra_rounds,
            trial_time_limit_s=self.trial_time_limit,
            retry_invalid=self.retry_invalid,
            cache=self.cache,
            preset=self.preset,
            restart=self.restart,
            retest=self.retest,
            pause_s=self.pause,
            invalidate=self.invalidate.rules(),
            detect=self.detect,
            power=self.power,
            pilot_rounds=self.pilot_rounds,
            max_rounds=self.max_rounds,
        )
