"""Units in cells and in names of columns: their dimension and their factor to its base unit.

A quotient has the dimension of both parts: ``usd_per_hour`` is ``usd/s``, ``mb_per_joule`` is
``B/J``, ``watts_per_node`` is ``W/node``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Unit = tuple[str, float]

_BYTES = {"b": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BITS = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
COUNTS = ("rows", "records", "operations", "files", "tasks", "maps", "samples", "articles")
_SINGULAR = {"ops": "operations", "op": "operations"} | {name[:-1]: name for name in COUNTS}
_PRICE = "price "


def _units() -> dict[str, Unit]:
    """Unit in lower case -> dimension and factor to its base unit."""
    found: dict[str, Unit] = {
        "ms": ("s", 1e-3),
        "us": ("s", 1e-6),
        "w": ("W", 1.0),
        "watts": ("W", 1.0),
        "kw": ("W", 1e3),
        "j": ("J", 1.0),
        "joules": ("J", 1.0),
        "kj": ("J", 1e3),
        "mj": ("J", 1e6),
        "wh": ("J", 3600.0),
        "kwh": ("J", 3.6e6),
        "%": ("ratio", 0.01),
        "pct": ("ratio", 0.01),
        "percent": ("ratio", 0.01),
        "ratio": ("ratio", 1.0),
        "fraction": ("ratio", 1.0),
        "speedup": ("ratio", 1.0),
        "factor": ("ratio", 1.0),
        "relative": ("ratio", 1.0),
        "ghz": ("Hz", 1e9),
        "mhz": ("Hz", 1e6),
        "bytes": ("B", 1.0),
        "bytes/s": ("B/s", 1.0),
        "ops": ("operations", 1.0),
        "ops/s": ("operations/s", 1.0),
    }
    found |= dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("s", 1.0))
    found |= dict.fromkeys(("msec", "msecs", "millisecond", "milliseconds"), ("s", 1e-3))
    found |= dict.fromkeys(("usec", "usecs", "microsecond", "microseconds"), ("s", 1e-6))
    found |= dict.fromkeys(("min", "mins", "minute", "minutes"), ("s", 60.0))
    found |= dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("s", 3600.0))
    found |= dict.fromkeys(("d", "day", "days"), ("s", 86400.0))
    found |= {name: (_PRICE + name, 1.0) for name in ("usd", "eur", "gbp", "chf")}
    for prefix, factor in _BYTES.items():
        if prefix != "b":
            binary = 1024 ** ("bkmgtp".index(prefix))
            found[f"{prefix}b"], found[f"{prefix}ib"] = ("B", factor), ("B", float(binary))
            found[f"{prefix}b/s"], found[f"{prefix}ib/s"] = ("B/s", factor), ("B/s", float(binary))
    for prefix, factor in _BITS.items():
        found[f"{prefix}bps"] = ("B/s", factor / 8)
        found |= dict.fromkeys((f"{prefix}bit", f"{prefix}bits"), ("B", factor / 8))
        found |= dict.fromkeys((f"{prefix}bit/s", f"{prefix}bits/s"), ("B/s", factor / 8))
    for count in COUNTS:
        found[count], found[f"{count}/s"] = (count, 1.0), (f"{count}/s", 1.0)
    return found


UNITS = _units()
# of which the letters in upper and lower case differ: b is a bit, B a byte
BIT_UNITS = {
    f"{prefix}{bit}{per}": ("B/s", factor / 8)
    for prefix, factor in (("K", 1e3), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))
    for bit in ("b", "bit", "bits")
    for per in ("/s", "/sec")
}
_EXACT = {"mW": ("W", 1e-3), "MW": ("W", 1e6), "mJ": ("J", 1e-3)}
"""Units of which the letter in upper case is mega and the one in lower case is milli."""
_HOURS = ("h", "hour", "hours")
_ENERGY = {"watt": 3600.0, "w": 3600.0, "kilowatt": 3.6e6, "kw": 3.6e6}
_TIMES = ("s", "sec", "second", "min", "minute", "h", "hr", "hour", "day")
_PARTS_OF_UNITS = {"watt": "w", "joule": "j", "bit": "bits", "byte": "bytes", "dollar": "usd"}
_ONCE = ("job", "run", "query", "test", "phase", "attempt", "experiment", "benchmark")
"""What a row is about: an energy per job is the energy of the row."""


def unit_of(text: str) -> Unit | None:
    """The dimension and the factor of a unit: ``Gb/s`` are bits, ``GB/s`` and ``gb/s`` bytes."""
    known = _EXACT.get(text) or BIT_UNITS.get(text) or UNITS.get(text.casefold())
    if known is None and text.count("/") == 1:
        above, below = text.split("/")
        return _quotient(_one(above), _one(below))
    return known


def unit_of_name(name: str) -> Unit | None:
    """The dimension and the factor of the unit in a name of a column, usually at its end."""
    found = re.search(r"[(\[]\s*([^()\[\]]+?)\s*[)\]]\s*$", name)
    inside = unit_of(found[1]) if found else None
    if inside is not None:
        return inside
    exact = [word for word in re.split(r"[^A-Za-z0-9%/]+", name) if word]
    for word in exact:
        if word in BIT_UNITS or word in _EXACT:
            return unit_of(word)
    words = [word.casefold() for word in exact]
    words = "\0".join(words).replace("speed\0up", "speedup").split("\0")
    if words.count("per") > 1:
        return None  # usd_per_node_per_hour: no check uses such a quotient
    if "per" in words:
        at = words.index("per")
        return _per(words[:at], words[at + 1 :])
    return _rate(exact) or _last(words)


def _last(words: Sequence[str]) -> Unit | None:
    """The last unit of a name; units of one or two letters only at its end."""
    if len(words) > 1 and words[-1] in _HOURS and words[-2] in _ENERGY:
        return ("J", _ENERGY[words[-2]])
    for word in reversed(words):
        if word in UNITS and (word == words[-1] or len(word) > 2):
            return UNITS[word]
    return None


def _rate(words: Sequence[str]) -> Unit | None:
    """The rate of ``read_mb_s``, ``aggregate_gbit_s``, ``ops_sec`` and ``tb_hour``."""
    if len(words) < 2 or words[-1].casefold() not in _TIMES:
        return None
    above, below = _one(words[-2]), _one(words[-1])
    if above is None or not (above[0] == "B" or above[0] in COUNTS):
        return None
    if words[-2].casefold() in _SINGULAR and words[-2].casefold() != "ops":
        return None  # "time_of_task_s" are seconds
    bits = BIT_UNITS.get(f"{words[-2]}/s") if words[-2][0] in "MGT" else None
    return _quotient((above[0], bits[1]) if bits else above, below)


def _per(before: Sequence[str], after: Sequence[str]) -> Unit | None:
    """The quotient of ``usd_per_hour``, ``price_per_hour_usd`` and ``power_per_node_w``."""
    if not after:
        return _last(before)
    below = _one(after[0])
    above = _rate(before) or (_one(before[-1]) if before else None)
    if above is None:
        above = _rate(after[1:]) or _last(after[1:])
    if below is None:
        noun = after[0].removesuffix("s")
        if above is None or above[0] in ("s", "ratio") or noun in _ONCE:
            return above  # a time is not shared by the nodes or the tasks
        return above if above[0].startswith(_PRICE) else (f"{above[0]}/{noun}", above[1])
    if above is not None and above[0] == "s" and below[0] in COUNTS:
        return above
    if above is None and before and below[0] == "s":
        above = (before[-1], 1.0)  # requests_per_s: no other unit, and no seconds
    return _quotient(above, below)


def _one(word: str) -> Unit | None:
    """A unit without a quotient, also in the singular: ``watt``, ``record``, ``bit``."""
    if word in _EXACT:
        return _EXACT[word]
    text = word.casefold()
    if text in ("bit", "bits"):
        return ("B", 1 / 8)
    text = _PARTS_OF_UNITS.get(text, text)
    return UNITS.get(_SINGULAR.get(text, text)) if "/" not in text else None


def _quotient(above: Unit | None, below: Unit | None) -> Unit | None:
    if above is None or below is None or above[0] == below[0]:
        return None
    names = (above[0].removeprefix(_PRICE), below[0].removeprefix(_PRICE))
    return ("/".join(names), above[1] / below[1])
