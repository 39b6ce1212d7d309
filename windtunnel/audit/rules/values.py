"""Values of properties by themselves: no number, outside what is possible, of a wrong form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from windtunnel.audit.catalogue import limits
from windtunnel.audit.configuration import Property, property_number, redacted
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.result import Outcome, failed, passed
from windtunnel.cluster.setting_values import WHOLE, refused
from windtunnel.cluster.settings import default_of

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_DASHES = re.compile("[\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{HYPHEN}\N{NON-BREAKING HYPHEN}]")
_SPACES = re.compile("[\N{NO-BREAK SPACE}\N{ZERO WIDTH SPACE}]")
_DURATION = re.compile(r"\d+\s*(ns|us|ms|s|m|h|d)")
_ADDRESS = re.compile(r"[\w.\-${}\[\]:]*:\d+")
_XMX = re.compile(r"-Xmx(\S*)")
CODECS = (
    "org.apache.hadoop.io.compress.DefaultCodec",
    "org.apache.hadoop.io.compress.GzipCodec",
    "org.apache.hadoop.io.compress.BZip2Codec",
    "org.apache.hadoop.io.compress.DeflateCodec",
    "org.apache.hadoop.io.compress.SnappyCodec",
    "org.apache.hadoop.io.compress.Lz4Codec",
    "org.apache.hadoop.io.compress.ZStandardCodec",
    "org.apache.hadoop.io.compress.PassthroughCodec",
)


def _problem(one: Property, value: str, version: str) -> tuple[str, str] | None:
    """What is wrong with the form of a value, and the remedy; None if nothing is."""
    shown, default = redacted(one.name, value), default_of(one.name, version) or ""
    if _DASHES.search(value) and re.search(r"(opts|command)", one.name):
        return f"{shown} contains a typographic dash: Java does not read it", "write '-'"
    if _SPACES.search(value):
        return f"{shown} contains a special Unicode space", "write the value by hand"
    if default in ("true", "false") and value.lower() not in ("true", "false"):
        return f"'{shown}' is neither true nor false: {default} applies", "write true or false"
    if value == "" or "${" in value:
        return None
    found = refused(one.name, value, version)
    if found is not None:
        problem, remedy = found
        return f"'{shown}' {problem}", remedy
    if _NUMBER.fullmatch(default) and property_number(value) is None:
        if (
            WHOLE.fullmatch(value)
            or _DURATION.fullmatch(value)
            or one.name.endswith((".jitter", "-policy"))
        ):
            return None
        return f"'{shown}' is not a number", f"write a number; Hadoop's default is {default}"
    address = re.search(r"(^|[.-])(address|bind-host)$", one.name) is not None
    if address and re.fullmatch(r"[^:]*:\d+", default) and not _ADDRESS.fullmatch(value):
        return f"'{shown}' is not an address", "write HOST:PORT"
    port = value.rpartition(":")[2]
    if address and port.isdigit() and int(port) > 65535:
        return f"'{shown}' has a port above 65535", "write a port from 1 to 65535"
    heap = _XMX.search(value)
    if heap and not re.fullmatch(r"\d+[kKmMgGtT]?", heap[1]):
        return f"-Xmx{heap[1]} is not a size", "write -Xmx with a whole number and k, m or g"
    return None


def form(evidence: Evidence) -> Iterator[Outcome]:
    """Values that Hadoop or Java cannot parse."""
    conf, bad = evidence.conf, False
    for one in conf.entries:
        found = _problem(one, conf.expanded(one.value), conf.version)
        if found:
            bad = True
            text, remedy = found
            yield failed(f"{one.name}: {text}", remedy, about=one.name, place=one.place)
    if not bad:
        yield passed(f"{len(conf.entries)} values, all can be parsed")


def impossible(evidence: Evidence) -> Iterator[Outcome]:
    """Numbers outside what a property can have."""
    conf, bad = evidence.conf, False
    for name, one in limits().items():
        value = conf.number(name) if conf.is_set(name) else None
        if value is None:
            continue
        low = one.least is not None and value < one.least
        high = one.most is not None and value > one.most
        if low or high:
            bad = True
            bound = f"at least {one.least:g}" if low else f"at most {one.most:g}"
            text = f"{name} = {conf.shown(name)}; possible: {bound} ({one.reason})"
            remedy = f"set {name} to {bound}"
            yield failed(text, remedy, about=name, place=conf.place(name))
    if not bad:
        yield passed("every number is possible")


def chunks(evidence: Evidence) -> Iterator[Outcome]:
    """Sizes that must be multiples of others."""
    conf = evidence.conf
    block, chunk = conf.number("dfs.blocksize"), conf.number("dfs.bytes-per-checksum")
    if block and chunk and block % chunk:
        text = f"dfs.blocksize = {conf.shown('dfs.blocksize')} is no multiple of {chunk:.0f}"
        remedy = "set dfs.blocksize to a multiple of dfs.bytes-per-checksum, such as 134217728"
        yield failed(text, remedy, about="dfs.blocksize", place=conf.place("dfs.blocksize"))
    buffer = conf.number("io.file.buffer.size")
    if buffer and buffer % 4096:
        text = f"io.file.buffer.size = {conf.shown('io.file.buffer.size')} is no multiple of 4096"
        place = conf.place("io.file.buffer.size")
        remedy = "set io.file.buffer.size to 65536 or 131072"
        yield failed(text, remedy, about="io.file.buffer.size", place=place)
    if not (block and chunk and block % chunk) and not (buffer and buffer % 4096):
        yield passed("block and buffer are multiples of their units")


def codecs(evidence: Evidence) -> Iterator[Outcome]:
    """Classes of codecs that Hadoop does not have, and codecs that nothing uses."""
    conf, bad = evidence.conf, False
    pairs = {
        "mapreduce.map.output.compress.codec": "mapreduce.map.output.compress",
        "mapreduce.output.fileoutputformat.compress.codec": (
            "mapreduce.output.fileoutputformat.compress"
        ),
    }
    for name, switch in pairs.items():
        if not conf.is_set(name):
            continue
        value, place = conf.value(name), conf.place(name)
        if value.startswith("org.apache.hadoop.") and value not in CODECS:
            bad = True
            text = f"{name} = {value}: Hadoop has no such codec"
            yield failed(text, f"use one of {', '.join(CODECS)}", about=name, place=place)
        if not conf.true(switch):
            bad = True
            text = f"{name} is set, and {switch} is {conf.shown(switch)}: the codec has no effect"
            yield failed(text, f"set {switch} = true", about=switch, place=place)
    if not bad:
        yield passed("every codec exists and is used")


RULES = {"form": form, "impossible": impossible, "chunks": chunks, "codecs": codecs}
