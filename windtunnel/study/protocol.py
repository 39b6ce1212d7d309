"""The protocol: the rules of execution of a study, fixed before the first trial."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from windtunnel.cluster import Duration, Fraction, blame
from windtunnel.results.record import ProtocolRecord
from windtunnel.study.closed import Closed

# Values of a preset for the keys that the study file does not set. ``windtunnel`` has the defaults
# of the fields. ``cisco-2014`` is the procedure of Cisco, Intel and Cloudera (2014): three runs,
# and "more than 20 %: run all three again" (workbook sheet "Benchmarking Procedure").
PRESETS: dict[str, dict[str, Any]] = {
    "windtunnel": {},
    "cisco-2014": {
        "rounds": 3,
        "variation_limit": "20 %",
        "retest": "all again",
    },
}
MOST_ROUNDS = 10_000  # also of repetitions: a plan lists all of them
# Defaults with `detect`: rounds of the pilot, and the maximum number of rounds.
_PILOT_ROUNDS = 5
_MAX_ROUNDS = 40


def _plain_number(given: object) -> object:
    """Accept ``4.0`` and ``4`` as a load, and reject ``true``."""
    if isinstance(given, bool):
        raise blame("must be a number, not yes or no", remedy="write a load such as 4")
    return given


class Invalidate(Closed):
    """Rules that make a disturbed trial invalid. By default, there are no rules.

    The numbers are those of the machine that runs the trials. If a number is unknown, its rule is
    not applied, and the trial has a flag that says so.
    """

    load_before_above: Annotated[float, BeforeValidator(_plain_number)] | None = Field(
        None, gt=0, description="Load average (1 min) just before the trial."
    )
    cpu_idle_before_below: Fraction | None = Field(
        None, description="Idle fraction of the CPUs just before the trial."
    )
    steal_above: Fraction | None = Field(
        None, description="Fraction of CPU time that the hypervisor took during the trial."
    )

    def rules(self) -> dict[str, float]:
        """The rules that are set: name -> limit."""
        return {name: limit for name, limit in self if limit is not None}


def _long_enough(limit_s: float) -> float:
    """Reject a time limit that no trial can meet."""
    if limit_s < 1:
        raise blame("must be at least 1 s", remedy="write a time such as 30 min")
    return limit_s


class Protocol(Closed):
    """The rules of execution, fixed before the first trial."""

    preset: Literal["windtunnel", "cisco-2014"] = Field(
        "windtunnel",
        description="Default values of the other keys: those in this table, or the procedure of "
        "the Cisco study of 2014.",
    )
    rounds: int = Field(
        3, gt=0, le=MOST_ROUNDS, description="Passes over all treatments in random order."
    )
    seed: int = Field(1, description="Seed of the random order.")
    warmup: int = Field(
        0,
        ge=0,
        le=MOST_ROUNDS,
        description="Passes before the first round, which are never averaged. A resumed study "
        "repeats them, because its daemons are new.",
    )
    variation_limit: Fraction = Field(
        "20 %",
        description="Coefficient of variation above which a cell is measured in extra rounds.",
        validate_default=True,
    )
    extra_rounds: int = Field(
        2,
        ge=0,
        le=MOST_ROUNDS,
        description="Maximum number of extra rounds of the noisy cells; with 'retest: all "
        "again', the default is the number of rounds.",
    )
    retest: Literal["noisy cells", "all again"] = Field(
        "noisy cells",
        description="Extra rounds of a cell above the limit: one at a time, or all rounds again. "
        "All trials are kept.",
    )
    trial_time_limit: Annotated[Duration, AfterValidator(_long_enough)] = Field(
        "30 min",
        description="Time after which a trial is stopped and invalid.",
        validate_default=True,
    )
    retry_invalid: int = Field(
        1,
        ge=0,
        le=MOST_ROUNDS,
        description="Maximum number of repetitions of an invalid trial.",
    )
    cache: Literal["warm", "drop", "larger-than-memory"] = Field(
        "warm",
        description="Page cache before each phase: unchanged ('warm'); emptied, which requires "
        "root ('drop'); or unchanged with data larger than memory, which is checked.",
    )
    pause: Duration = Field(
        "0 s",
        description="Idle time between two trials.",
        validate_default=True,
    )
    restart: Literal["never", "round", "trial"] = Field(
        "never",
        description="Restart the cluster before each round or each trial, so that the restarts "
        "are part of the spread.",
    )
    invalidate: Invalidate = Field(
        default_factory=lambda: Invalidate.model_validate({}),
        description="Rules that make a disturbed trial invalid.",
    )
    detect: Fraction | None = Field(
        None,
        description="Smallest difference in elapsed time that the study has to detect. A pilot "
        "determines the number of rounds once, only from its spread.",
    )
    power: Fraction = Field(
        "80 %",
        description="Probability of detecting a difference as large as 'detect'; at least 50 %.",
        validate_default=True,
    )
    pilot_rounds: int | None = Field(
        None,
        ge=2,
        le=MOST_ROUNDS,
        description=f"Rounds of the pilot; default with 'detect': {_PILOT_ROUNDS}.",
    )
    max_rounds: int | None = Field(
        None,
        ge=2,
        le=MOST_ROUNDS,
        description=f"Maximum number of rounds; default with 'detect': {_MAX_ROUNDS}.",
    )

    def once(self) -> Protocol:
        """The protocol of predictions: the same input has the same prediction, so one round."""
        given = {"rounds": 1, "warmup": 0, "extra_rounds": 0, "detect": None}
        own = {"pilot_rounds": None, "max_rounds": None}
        return self.model_copy(update={**given, **own})

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: object) -> object:
        """Add the values of the preset, and with ``detect`` the rounds of the pilot."""
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
                "'rounds' and 'detect' exclude each other: with 'detect' the pilot determines "
                "the number of rounds",
                "rounds",
                remedy="remove 'rounds', or set 'pilot_rounds' and 'max_rounds'.",
            )
        filled.setdefault("pilot_rounds", _PILOT_ROUNDS)
        filled.setdefault("max_rounds", _MAX_ROUNDS)
        if isinstance(filled["pilot_rounds"], int):
            filled["rounds"] = max(1, filled["pilot_rounds"])
        return filled

    @model_validator(mode="after")
    def _fits_together(self) -> Protocol:
        if self.warmup and self.restart != "never":
            raise blame(
                f"'warmup' has no effect with 'restart: {self.restart}': the restart follows it",
                "warmup",
                remedy="remove 'warmup' or 'restart'.",
            )
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
                remedy="increase max_rounds, or decrease pilot_rounds.",
            )
        if not 0.5 <= self.power < 1:
            raise blame(
                "must be at least 50 % and below 100 %", "power", remedy="write 'power: 80 %'."
            )
        if self.retest == "all again" and self.detect is not None:
            raise blame(
                "'all again' and 'detect' exclude each other: with 'detect' the pilot determines "
                "the number of rounds",
                "retest",
                remedy="remove one of them.",
            )
        if self.retest == "all again" and 0 < self.extra_rounds < self.rounds:
            raise blame(
                f"'all again' requires {self.rounds} more rounds of a cell, but extra_rounds "
                f"allows {self.extra_rounds}",
                "extra_rounds",
                remedy=f"set it to {self.rounds}, or to 0 for no retest.",
            )
        return self

    @property
    def first_rounds(self) -> int:
        """The number of rounds of the pilot; 1 without a pilot."""
        return self.pilot_rounds or 1

    def to_record(self) -> ProtocolRecord:
        """The protocol as it is stored in the results folder."""
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
