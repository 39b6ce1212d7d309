"""Names of properties: misspelt, deprecated, of another version, in the wrong file, set twice."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator

from windtunnel.audit.catalogue import removed
from windtunnel.audit.configuration import KNOWN_LINES, Property, redacted
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.result import Outcome, failed, not_applicable, passed, unknown
from windtunnel.cluster.settings import (
    base_name,
    default_of,
    deprecated,
    in_code,
    site_of,
    suffixes_of,
    unknown_settings,
)

_NEAR = 0.85  # similarity of two names above which one is a misspelling of the other
# Files whose properties are listed in the catalogue; those of other programs are not judged.
_OWN = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml")
# Daemons read core-site.xml, and HDFS, YARN and MapReduce each their own file in addition.
_READ_TOO = {
    "core-site.xml": {"hdfs-site.xml", "yarn-site.xml", "mapred-site.xml"},
    "yarn-site.xml": {"mapred-site.xml"},
}


def _own(evidence: Evidence) -> list[Property]:
    return [one for one in evidence.conf.entries if one.file in _OWN]


def files_readable(evidence: Evidence) -> Iterator[Outcome]:
    """Files of the directory that are not XML, or cannot be read."""
    conf = evidence.conf
    for name, why in conf.broken.items():
        yield failed(f"{name}, {why}", f"correct {name}; xmllint --noout {name}", about=name)
    for name, why in conf.unreadable.items():
        yield unknown(f"{name}: {why}", name)
    if not conf.broken and not conf.unreadable:
        yield passed("every file is XML")


def misspelt(evidence: Evidence) -> Iterator[Outcome]:
    """Names that no version in the catalogue has."""
    conf = evidence.conf
    bad, suffixes = False, suffixes_of(conf.value)
    for one in _own(evidence):
        names = {one.name, base_name(one.name, suffixes)}
        if names & (deprecated().keys() | removed().keys() | in_code()):
            continue
        lines = [conf.version] if conf.line_known else list(KNOWN_LINES)
        if not all(unknown_settings({one.name: ""}, line, suffixes) for line in lines):
            continue
        if conf.line_known and not unknown_settings({one.name: ""}, _other(conf.version), suffixes):
            continue  # the check of versions reports it
        bad = True
        said = unknown_settings({one.name: ""}, lines[-1], suffixes)[0]
        near = said.partition("did you mean '")[2].rstrip("'?")
        alike = difflib.SequenceMatcher(None, one.name, near).ratio() if near else 0.0
        if conf.version and not conf.line_known and alike < _NEAR:
            yield unknown(
                f"{one.name} is in no catalogue, and the properties of Hadoop {conf.version} are "
                "not catalogued",
                one.name,
            )
            continue
        remedy = f"rename it to {near}" if near else f"remove {one.name}: nothing reads it"
        yield failed(f"{one.name}: {said}", remedy, about=one.name, place=one.place)
    if not bad:
        yield passed(f"{len(_own(evidence))} names, all known")


def _other(version: str) -> str:
    return next(line for line in KNOWN_LINES if not version.startswith(line))


def deprecated_names(evidence: Evidence) -> Iterator[Outcome]:
    """Names that Hadoop replaced."""
    bad = False
    for one in evidence.conf.entries:
        new = deprecated().get(one.name)
        if new is None or one.name in removed():
            continue
        bad = True
        text = f"{one.name} was replaced by {', '.join(new) or 'nothing'}"
        remedy = f"set {' and '.join(new)} = {redacted(one.name, one.value)} instead"
        yield failed(text, remedy if new else "remove it", about=one.name, place=one.place)
    if not bad:
        yield passed("no deprecated name")


def without_effect(evidence: Evidence) -> Iterator[Outcome]:
    """Names that have no effect any more."""
    bad = False
    for one in evidence.conf.entries:
        if one.name in removed():
            bad = True
            text = f"{one.name} = {redacted(one.name, one.value)} has no effect"
            yield failed(text, removed()[one.name], about=one.name, place=one.place)
    if not bad:
        yield passed("no name without effect")


def other_version(evidence: Evidence) -> Iterator[Outcome]:
    """Names that only another version of Hadoop has."""
    conf = evidence.conf
    if not conf.version:
        yield unknown("the version of Hadoop is unknown: give it with --hadoop")
        return
    if not conf.line_known:
        yield unknown(f"the properties of Hadoop {conf.version} are not catalogued")
        return
    other, bad, suffixes = _other(conf.version), False, suffixes_of(conf.value)
    for one in _own(evidence):
        if one.name in deprecated() or not unknown_settings({one.name: ""}, conf.version, suffixes):
            continue
        if not unknown_settings({one.name: ""}, other, suffixes):
            bad = True
            text = f"{one.name} is a property of Hadoop {other}, not of {conf.version}"
            remedy = "remove it, or use that version"
            yield failed(text, remedy, about=one.name, place=one.place)
    if not bad:
        yield passed("every name belongs to this version")


def wrong_file(evidence: Evidence) -> Iterator[Outcome]:
    """Properties in a file that their daemons do not read."""
    bad = False
    for one in _own(evidence):
        # several site files include the same file
        if one.included or default_of(one.name, evidence.conf.version) is None:
            continue
        right = site_of(one.name, evidence.conf.version)
        if right not in _OWN or one.file == right or one.file == "core-site.xml":
            continue
        # MapReduce's programs read yarn-site.xml; the files of others do not reach a daemon
        if right == "core-site.xml" or right in _READ_TOO.get(one.file, ()):
            continue
        bad = True
        text = f"{one.name} is in {one.file}, which its daemons do not read"
        yield failed(text, f"move it to {right}", about=one.name, place=one.place)
    if not bad:
        yield passed("every property is in a file that its daemons read")


def set_twice(evidence: Evidence) -> Iterator[Outcome]:
    """Properties with two different values, in one file or in two."""
    by_name: dict[str, list[Property]] = defaultdict(list)
    for one in evidence.conf.entries:
        new = deprecated().get(one.name)
        by_name[new[0] if new else one.name].append(one)
    bad = False
    for name, entries in by_name.items():
        if len({one.value for one in entries}) < 2:
            continue
        bad = True
        said = ", ".join(f"{redacted(e.name, e.value)} ({e.place})" for e in entries)
        yield failed(f"{name}: {said}", "keep one of them", about=name, place=entries[-1].place)
    if not bad:
        yield passed("no property has two values")


def variables(evidence: Evidence) -> Iterator[Outcome]:
    """Variables in values that nothing defines."""
    conf = evidence.conf
    bad = False
    for one in conf.entries:
        text = conf.expanded(one.value)
        rest = text.partition("${")[2].partition("}")[0]
        if rest and not rest.startswith(("env.", "user.", "java.", "hadoop.", "yarn.")):
            bad = True
            said = f"{one.name}: nothing defines ${{{rest}}}"
            yield failed(said, f"set {rest}, or write the value", about=one.name, place=one.place)
    if not conf.entries:
        yield not_applicable("no property is set")
    elif not bad:
        yield passed("every variable is defined")


RULES = {
    "files_readable": files_readable,
    "misspelt": misspelt,
    "deprecated_names": deprecated_names,
    "without_effect": without_effect,
    "other_version": other_version,
    "wrong_file": wrong_file,
    "set_twice": set_twice,
    "variables": variables,
}
