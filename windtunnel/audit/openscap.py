"""OpenSCAP: run its scanner on this machine, and score the sections of a result file (XCCDF)."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from windtunnel.audit.result import OPENSCAP, Result, Severity, Status
from windtunnel.errors import DescriptionError, SetupError

CONTENT = Path("/usr/share/xml/scap/ssg/content")
PACKAGES = ("openscap-scanner", "ssg-debian")
PROFILE_PREFIX = "xccdf_org.ssgproject.content_profile_"
_LIMIT_S = 900.0
_RELEASE = re.compile(r"<[\w.:-]*platform idref=\"cpe:/o:[^\"]*\"\s*/>")
_MAX_BYTES = 256 << 20
_REMEDY = f"apt-get install {' '.join(PACKAGES)}"
_SEVERITIES: dict[str, Severity] = {"high": "high", "medium": "medium", "low": "low"}


def lacks() -> list[str]:
    """The Debian packages that are missing on this machine."""
    missing = [] if shutil.which("oscap") else [PACKAGES[0]]
    return missing if any(CONTENT.glob("ssg-*-ds*.xml")) else [*missing, PACKAGES[1]]


def data_stream() -> tuple[Path, bool]:
    """The content for this machine, and whether it is that of its own release.

    Without content of the release, the newest one of the distribution.
    """
    release: dict[str, str] = {}
    with Path("/etc/os-release").open(encoding="utf-8") as file:
        for line in file:
            key, _, value = line.strip().partition("=")
            release[key] = value.strip('"')
    name, version = release.get("ID", ""), release.get("VERSION_ID", "").split(".")[0]
    own = CONTENT / f"ssg-{name}{version}-ds.xml"
    if own.is_file():
        return own, True
    others = sorted(CONTENT.glob(f"ssg-{name}*-ds.xml"), key=lambda path: (len(path.name), path))
    if not others:
        raise SetupError(f"no SCAP content for {name} {version} in {CONTENT}", remedy=_REMEDY)
    return others[-1], False


def scan(profile: str) -> tuple[ElementTree.Element, str]:
    """Run the scanner (it changes nothing); the XCCDF document, and the name of the content.

    Raises
    ------
    SetupError
        If the scanner or its content is missing, or it gives no result.
    """
    missing = lacks()
    if missing:
        raise SetupError(f"OpenSCAP is not complete: {', '.join(missing)} missing", remedy=_REMEDY)
    content, own = data_stream()
    name = content.name
    with tempfile.TemporaryDirectory(prefix="windtunnel-oscap-") as folder:
        file = Path(folder) / "results.xml"
        if not own:  # it applies to its release only: a copy without this restriction
            copy = Path(folder) / content.name
            copy.write_text(_RELEASE.sub("", content.read_text(encoding="utf-8")), encoding="utf-8")
            content, name = copy, f"{name}, of another release than this system"
        full = profile if profile.startswith("xccdf_") else PROFILE_PREFIX + profile
        command = ["oscap", "xccdf", "eval", "--profile", full, "--results", str(file)]
        try:
            done = subprocess.run(
                [*command, str(content)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SetupError(
                f"oscap was still running after {_LIMIT_S:.0f} s", remedy="try another profile."
            ) from None
        if not file.is_file():
            said = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise SetupError(
                f"oscap returned no result: {' '.join(said)}",
                remedy=f"check the profile {profile}; oscap info {content} lists them.",
            )
        return parse(file), name


def parse(path: Path) -> ElementTree.Element:
    """The root of an XCCDF document with results.

    Raises
    ------
    DescriptionError
        If the file cannot be read, is not XML, or holds no results.
    """
    remedy = "give the file of: oscap xccdf eval --results FILE ..."
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise DescriptionError("larger than 256 MB", file=path, remedy=remedy)
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise DescriptionError(
            f"cannot be read: {error.strerror}", file=path, remedy=remedy
        ) from None
    except ElementTree.ParseError as error:
        raise DescriptionError(f"not XML: {error}", file=path, remedy=remedy) from None
    if next(_all(root, "TestResult"), None) is None:
        raise DescriptionError("no TestResult of XCCDF", file=path, remedy=remedy)
    return root


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _all(root: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    return (element for element in root.iter() if _tag(element) == tag)


def _child(element: ElementTree.Element, tag: str) -> str:
    found = next((child for child in element if _tag(child) == tag), None)
    return "" if found is None else " ".join("".join(found.itertext()).split())


def outcomes(root: ElementTree.Element) -> dict[str, tuple[str, float]]:
    """Rule -> its result in the last TestResult, and its weight."""
    found = {}
    for one in _all(_last(root), "rule-result"):
        text = one.get("weight", "1")
        weight = float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else 1.0
        found[one.get("idref", "")] = (_child(one, "result"), weight)
    return found


def host_of(root: ElementTree.Element) -> str:
    """The host that was tested, in the last TestResult."""
    return _child(_last(root), "target") or "host"


def by_host(roots: Iterable[ElementTree.Element]) -> dict[str, ElementTree.Element]:
    """The documents by host; several of one host are ``HOST``, ``HOST (2)`` ..."""
    found: dict[str, ElementTree.Element] = {}
    for root in roots:
        host = name = host_of(root)
        number = 1
        while name in found:
            number += 1
            name = f"{host} ({number})"
        found[name] = root
    return found


def _last(root: ElementTree.Element) -> ElementTree.Element:
    return list(_all(root, "TestResult"))[-1]


def sections(root: ElementTree.Element) -> list[dict[str, Any]]:
    """Counts and scores of each group of the benchmark that has selected rules, and the total.

    A rule that passes scores its weight; the maximum is the weight of PASS, FAIL, error and
    unknown, as in the flat model of XCCDF 1.2 (NISTIR 7275r4, section 7.3).
    """
    results = outcomes(root)
    rows: list[dict[str, Any]] = []

    def walk(element: ElementTree.Element, number: str, level: int) -> list[str]:
        place, own = len(rows), list[str]()
        rows.append({})
        count = 0
        for child in element:
            if _tag(child) == "Group":
                name = f"{number}.{count + 1}" if number else str(count + 1)
                below = walk(child, name, level + 1)
                count += bool(below)
                own += below
            elif _tag(child) == "Rule" and child.get("id") in results:
                own.append(child.get("id", ""))
        judged = [one for one in own if results[one][0] in _COUNTED]
        if judged:
            rows[place] = _row(number, _child(element, "title"), level, judged, results)
        else:
            del rows[place]
        return judged

    benchmark = next(_all(root, "Benchmark"), None)
    if benchmark is None:  # a result without its benchmark
        judged = [name for name, (result, _) in results.items() if result in _COUNTED]
        return [_row("", "Total", 0, judged, results)] if judged else []
    walk(benchmark, "", 0)
    if rows:
        total = rows.pop(0)
        rows.append(total | {"section": "", "description": "Total"})
    return rows


_COUNTED = {
    "pass": "pass",
    "fixed": "pass",
    "fail": "fail",
    "error": "error",
    "unknown": "unknown",
}


def _row(
    number: str, title: str, level: int, rules: list[str], results: dict[str, tuple[str, float]]
) -> dict[str, Any]:
    counts = dict.fromkeys(("pass", "fail", "error", "unknown"), 0)
    score = most = 0.0
    for rule in rules:
        result, weight = results[rule]
        counts[_COUNTED[result]] += 1
        most += weight
        score += weight if _COUNTED[result] == "pass" else 0.0
    return {
        "section": number,
        "description": title,
        **counts,
        "score": score,
        "max": most,
        "percent": 100.0 * score / most if most else None,
        "level": level,
    }


def results_of(root: ElementTree.Element, host: str) -> list[Result]:
    """Each rule as a result of the audit: error and unknown are UNKNOWN."""
    results = outcomes(root)
    rules = {one.get("id", ""): one for one in _all(root, "Rule")}
    found = []
    for name, (result, _) in results.items():
        if result not in _COUNTED:
            continue
        rule = rules.get(name)
        title = name if rule is None else _child(rule, "title") or name
        status = {"pass": Status.PASS, "fail": Status.FAIL}.get(_COUNTED[result], Status.UNKNOWN)
        short = name.removeprefix("xccdf_org.ssgproject.content_rule_")
        severity = "medium" if rule is None else rule.get("severity", "medium")
        reason = "" if rule is None else _child(rule, "rationale")
        found.append(
            Result(
                check=f"{OPENSCAP}{short}",
                area="openscap",
                severity=_SEVERITIES.get(severity, "medium"),
                subject=host,
                about="",
                status=status,
                question=title,
                observed=f"{title}: {result}",
                expected="pass",
                reason=reason[:400] or title,
                source="SCAP Security Guide",
                remedy=f"{title}; oscap xccdf generate fix --rule {name} prints the commands"
                if status is Status.FAIL
                else "",
            )
        )
    return found
