"""Text that is made: the same everywhere, natural in its words; and the count beside Hadoop's."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.workloads.client import count_words, make_text
from windtunnel.workloads.client.count_words import count, digest, digest_of, text_files

SIZE = 3_000_000


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "text"
    make_text.make(folder, 2, SIZE, 1)
    return folder


def test_the_bytes_never_change(text: Path) -> None:
    """Who changes what is made makes every earlier study irreproducible: think twice."""
    found = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(text.iterdir())]
    assert found == [
        "053f2f7cf9bfc27915bf6c82240cc04a5e7ba4076e62188df329e7435e9e55e3",
        "478b98dc5311b8149022500a8b2e3c075d817a029e539939c38a159ef04fcfcb",
    ]


def test_another_seed_is_another_text(text: Path, tmp_path: Path) -> None:
    make_text.make(tmp_path / "other", 1, 1000, 2)
    other = (tmp_path / "other/part-00000").read_bytes()
    assert other != (text / "part-00000").read_bytes()[:1000]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 5000), st.integers(0, 5))
def test_any_size_holds_whole_words_alone(
    tmp_path_factory: pytest.TempPathFactory, files: int, size: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("made") / "text"
    known = set(VOCABULARY)
    make_text.make(folder, files, size, seed)
    paths = text_files(folder)

    assert [path.stat().st_size for path in paths] == [size] * files
    assert all(path.read_bytes().endswith(b"\n") for path in paths)
    assert {word for path in paths for word in path.read_text().split()} <= known


VOCABULARY = make_text.vocabulary()


def test_a_shorter_text_begins_like_a_longer_one(text: Path, tmp_path: Path) -> None:
    make_text.make(tmp_path / "short", 1, 100_000, 1)
    short = (tmp_path / "short/part-00000").read_bytes().rstrip()
    assert (text / "part-00000").read_bytes().startswith(short)


def test_every_word_is_there_once() -> None:
    assert len(VOCABULARY) == len(set(VOCABULARY)) == make_text.VOCABULARY
    assert VOCABULARY[:5] == ["the", "of", "and", "to", "in"]
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)?", word) for word in VOCABULARY)


def test_words_are_as_frequent_as_zipf_and_mandelbrot_say(text: Path) -> None:
    words = [word for path in text_files(text) for word in path.read_text().split()]
    counts, weights = Counter(words), make_text.weights()
    for rank in (1, 2, 3, 10, 100, 1000):
        share = weights[rank - 1] / weights.sum()
        got = counts[VOCABULARY[rank - 1]] / len(words)
        deviation = (share / len(words)) ** 0.5
        assert abs(got - share) < 5 * deviation, rank
    assert weights[9] / weights[99] == pytest.approx((100 + 2.7) / (10 + 2.7), rel=1e-3)
    halved = weights[99_999] / weights[199_999]
    assert halved == pytest.approx(4, rel=1e-2), "the far tail falls with the square of the rank"


def test_longer_texts_have_more_words_that_differ(text: Path) -> None:
    words = (text / "part-00000").read_text().split()
    sizes = [len(set(words[:n])) for n in (1_000, 10_000, 100_000)]
    assert sizes[0] * 2 < sizes[1] and sizes[1] * 2 < sizes[2]


# -- counting ------------------------------------------------------------------------------


def program(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-P", count_words.__file__, *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_the_program_counts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one two\ttwo\r\nthree\x0cthree  three")
    (tmp_path / "_SUCCESS").write_bytes(b"not read")
    told = json.loads(program("count", str(tmp_path)).stdout)

    assert (told["files"], told["bytes"], told["words"], told["distinct"]) == (1, 31, 6, 3)
    lines = b"one\t1\nthree\t3\ntwo\t2\n"
    assert told["counts"] == hashlib.sha256(lines).hexdigest()


def test_words_are_split_as_java_does_and_no_further(tmp_path: Path) -> None:
    """Python's own idea of white space is wider: a vertical tab, a no-break space."""
    path = tmp_path / "odd.txt"
    path.write_bytes("\ufeffThe the, a\x0bb c\u00a0d \u2028 é".encode())

    words = {word.decode(): number for word, number in count([path]).items()}
    assert words == dict.fromkeys(["The", "the,", "a\x0bb", "c\u00a0d", "\u2028", "é"], 1)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab é\t\n\r\f", max_size=200), st.integers(1, 7))
def test_pieces_do_not_cut_words(
    tmp_path_factory: pytest.TempPathFactory, text: str, piece: int
) -> None:
    path = tmp_path_factory.mktemp("text") / "file"
    path.write_bytes(text.encode())
    old = count_words._CHUNK_BYTES
    count_words._CHUNK_BYTES = piece
    try:
        found = count([path])
    finally:
        count_words._CHUNK_BYTES = old
    assert found == Counter(word.encode() for word in re.split(r"[ \t\n\r\f]+", text) if word)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.gz", b"", "a.gz is compressed: decompress it"),
        (".hidden", b"", "there is no text file at"),
        ("latin", b"caf\xe9", "latin is not UTF-8 text: unexpected end"),
    ],
)
def test_what_cannot_be_counted_is_said(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = program("count", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_one_letter_changes_the_digests(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one two")
    before = digest([path]), digest_of(count([path]))
    path.write_bytes(b"one twO")
    assert digest([path]) != before[0]
    assert digest_of(count([path])) != before[1]
