"""Assumptions of the cost figures: years, utilisation, and the price of electricity."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windtunnel.analysis.formatting import percent
from windtunnel.cluster import Money, QuantityError, parse_fraction, parse_price
from windtunnel.errors import UsageError

HOURS_PER_YEAR = 8760.0
YEARS = 3.0
"""The span over which TPC benchmarks price a system (TPC Pricing Specification)."""
ELECTRICITY = Money(0.13, "USD")
"""Per kWh: about what commercial customers paid in the United States in 2024 (EIA, Electric
Power Monthly, table 5.3)."""
_EXAMPLE = "write --electricity '0.15 USD/kWh'."


@dataclass(frozen=True, slots=True)
class Tariff:
    """Assumptions of costs; the report states them.

    ``utilisation`` is the fraction of the time in which the cluster works, 0 to 1;
    ``electricity`` the price of one kWh; ``pue`` the power usage effectiveness, the energy of
    the data centre divided by that of the machines (ISO/IEC 30134-2), 1 for only the machines.
    """

    years: float = YEARS
    utilisation: float = 1.0
    electricity: Money = ELECTRICITY
    pue: float = 1.0

    @property
    def busy_hours(self) -> float:
        """Hours of work over all the years."""
        return self.years * HOURS_PER_YEAR * self.utilisation

    @property
    def idle_hours(self) -> float:
        """Hours without work over all the years."""
        return self.years * HOURS_PER_YEAR * (1.0 - self.utilisation)

    @property
    def span(self) -> str:
        """The years in words."""
        return "1 year" if self.years == 1 else f"{self.years:g} years"

    def words(self) -> str:
        """The assumptions in one line."""
        use = percent(self.utilisation, signed=False)
        coin = self.electricity
        return (
            f"{self.span} at {use} utilisation, electricity {coin.amount:g} {coin.currency}/kWh, "
            f"PUE {self.pue:g}"
        )


def parse_tariff(
    years: float | None = None,
    utilisation: str | None = None,
    electricity: str | None = None,
    pue: float | None = None,
) -> Tariff:
    """A tariff from the options of the command line; None means the default.

    Raises
    ------
    UsageError
        If a value is invalid.
    """
    usual = Tariff()
    if years is not None and not 0 < years <= 100:
        raise UsageError(
            f"--years {years:g}: must be more than 0 and at most 100", remedy="write --years 3."
        )
    if pue is not None and not 1 <= pue <= 10:
        raise UsageError(
            f"--pue {pue:g}: must be at least 1 and at most 10", remedy="write --pue 1.5."
        )
    return Tariff(
        years=usual.years if years is None else years,
        utilisation=usual.utilisation if utilisation is None else _share(utilisation),
        electricity=usual.electricity if electricity is None else _per_kwh(electricity),
        pue=usual.pue if pue is None else pue,
    )


def _share(text: str) -> float:
    try:
        share = parse_fraction(text)
    except QuantityError as error:
        raise UsageError(f"--utilisation: {error}", remedy="write --utilisation '60 %'.") from None
    if share <= 0:
        raise UsageError(
            "--utilisation: must be more than 0 %", remedy="write --utilisation '60 %'."
        )
    return share


def _per_kwh(text: str) -> Money:
    amount, slash, unit = text.partition("/")
    if not slash or unit.strip() != "kWh":
        raise UsageError(f"--electricity {text}: must be a price per kWh", remedy=_EXAMPLE)
    try:
        price = parse_price(amount.strip())
    except QuantityError as error:
        raise UsageError(f"--electricity {text}: {error}", remedy=_EXAMPLE) from None
    if not math.isfinite(price.amount):
        raise UsageError(f"--electricity {text}: must be a finite price", remedy=_EXAMPLE)
    return price
