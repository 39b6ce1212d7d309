"""Typical messages for the user guide, from real commands with mistakes."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from pathlib import Path

import windtunnel.cli as command_line
from windtunnel.study import journal
from windtunnel.study.file import load_study
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record

ROOT = Path(__file__).resolve().parents[1]
CHECK = "check my-study.yaml"
# the mistake, the command, and the change of the study file before it
MISTAKES: tuple[tuple[str, str, tuple[str, str] | None], ...] = (
    ("A quantity without its unit", CHECK, ("256 MB ", "256 ")),
    ("A misspelt key", CHECK, ("rounds: 3", "runds: 3")),
    ("Not YAML", CHECK, ("settings: stock}", "settings: stock")),
    ("A baseline that is not a level", CHECK, ("settings: stock}", "settings: stok}")),
    ("A cluster that is not in the catalogue", CHECK, ("local-3 ", "local-4 ")),
    ("A path that does not exist", f"{CHECK} --set hosts.wrker.count=5", None),
    ("More replicas than DataNodes", CHECK, ("input_replication: 1", "input_replication: 4")),
    ("A testbed that does not exist", CHECK, (": local  ", ": cloud  ")),
    ("A scale model without its scale", CHECK, (": local  ", ": scaled  ")),
    ("A folder without a study", "report other-files", None),
    ("Results would mix with other files", "run my-study.yaml --results other-files", None),
    (
        "The study file was changed after the first trial",
        "run my-study.yaml --results my-results",
        ("rounds: 3", "rounds: 5"),
    ),
    ("No cluster is up", "exec -- hdfs dfs -ls /", None),
)


def messages() -> str:
    """Typical messages: the output of the program for each mistake."""
    parts = []
    for title, words, change in MISTAKES:
        said, code = provoke(words.split(), change)
        lead = f"{title}" + (f" (`{change[1].strip()}`)" if change else "")
        parts.append(f"**{lead}**: exit code {code}\n\n```text\n$ windtunnel {words}\n{said}\n```")
    return "\n\n".join(parts)


def provoke(words: list[str], change: tuple[str, str] | None) -> tuple[str, int]:
    """Run a command line in a temporary folder; returns its output and its exit code.

    The command starts no cluster: every mistake is detected before that.
    """
    here, state = Path.cwd(), os.environ.get("WINDTUNNEL_STATE")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        try:
            os.chdir(folder)
            os.environ["WINDTUNNEL_STATE"] = str(folder / "state")
            prepare(folder, change)
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = command_line.run(words)
        finally:
            os.chdir(here)
            os.environ.pop("WINDTUNNEL_STATE", None)
            if state is not None:
                os.environ["WINDTUNNEL_STATE"] = state
    text = (out.getvalue() + err.getvalue()).strip().replace(f"{folder}/", "")
    return text, code


def prepare(folder: Path, change: tuple[str, str] | None) -> None:
    """Write a copy of the demo study, its results folder without trials, and another folder."""
    source = ROOT / "windtunnel/catalogue/studies/demo.yaml"
    text = source.read_text(encoding="utf-8")
    study = folder / "my-study.yaml"
    study.write_text(text, encoding="utf-8")
    (folder / "other-files").mkdir()
    (folder / "other-files" / "notes.txt").write_text("mine", encoding="utf-8")
    with journal.open_journal(folder / "my-results", study_record(make_plan(*load_study(study)))):
        pass
    if change is not None:
        old, new = change
        if text.count(old) != 1:
            raise SystemExit(f"demo.yaml contains {old!r} {text.count(old)} times; fix MISTAKES")
        study.write_text(text.replace(old, new), encoding="utf-8")
