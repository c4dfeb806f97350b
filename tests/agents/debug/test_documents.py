"""The site's own documents: how they are read, kept and found, and what hostile ones can do."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import tomllib
from maple_agents.diagnose import explanation
from maple_agents.diagnose.documents import folders as documents
from maple_agents.diagnose.documents.folders import Unreadable, named, read
from maple_agents.diagnose.documents.passages import Piece, pieces
from maple_agents.diagnose.documents.search import Library, cited, installed
from maple_agents.diagnose.gather import by_files
from maple_agents.diagnose.values import Diagnosis

from tests.agents.debug.made import cause, diagnosis
from tests.json_shapes import fits

HANDBOOK = Path(__file__).parent / "handbook"
SYMPTOMS = tomllib.loads((HANDBOOK / "symptoms.toml").read_text())["symptom"]


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the documents of this machine nor of its user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    monkeypatch.setenv("MAPLE_EMBEDDER", "off")


@pytest.fixture(scope="module")
def handbook() -> Library:
    """The handbook of a site in four files."""
    return of_paths(*sorted(path for path in HANDBOOK.iterdir() if path.suffix != ".toml"))


def of_paths(*paths: Path) -> Library:
    """Return the library of documents that are not kept."""
    found = [documents.Document(str(path), 0, "", tuple(read(str(path))[1]), "", True) for path in paths]
    return Library(documents.passages(found))


def explained(log: str, folder: Path) -> Diagnosis:
    """Return what the rules say of a job whose log ends so."""
    path = folder / "job.out"
    path.write_text("step 1 loss 2.0\n" + log + "\n")
    return explanation.explained(by_files([str(path)], None, "generic-slurm", (), "failed", 1), "off")


def test_most_symptoms_find_their_passage_and_others_none(handbook: Library, tmp_path: Path) -> None:
    """Of 40 symptoms the handbook speaks of 20: of these most are found, none wrongly; of the others at most one."""
    right = wrong = shown = 0
    for one in SYMPTOMS:
        found = cited(explained(one["log"], tmp_path), handbook)
        heading = found[0].heading.rpartition(" › ")[2] if found else ""
        if one["heading"]:
            right, wrong = right + (heading == one["heading"]), wrong + (heading not in ("", one["heading"]))
        else:
            shown += bool(found)
    print("passages: %d of 20 right, %d wrong; of 20 that nothing speaks of %d shown" % (right, wrong, shown))
    assert wrong == 0
    assert right >= 16
    assert shown <= 1


MARKDOWN = "# A\n\nfirst words here\n\n## B\n\n```sh\n# no heading\nexport X=1\n```\n\nC\n---\n\nlast words"
REST = "Title\n=====\n\nSub\n---\n\nsome words\n\nOther\n-----\nmore words\n"
HTML = (
    "<html><head><title>t</title></head><body>\n<h1>A &amp; B</h1>\n<p>one <b>two</b></p>\n"
    "<script>if (a<b) {evil}</script>\n<h2>C</h2><ul><li>three</li><li>four</li></ul><!-- no --></body></html>"
)


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("markdown", MARKDOWN, [(3, "A", "first words here"), (8, "A › B", "# no heading export X=1"),
                                (15, "A › C", "last words")]),
        ("rest", REST, [(7, "Title › Sub", "some words"), (11, "Title › Other", "more words")]),
        ("text", "no heading\nat all", [(1, "", "no heading at all")]),
        ("html", HTML, [(3, "A & B", "one two"), (5, "A & B › C", "three four")]),
        ("html", "<p>never <b closed", [(1, "", "never")]),
        ("html", "a < b and c > d", [(1, "", "a b and c > d")]),
        ("html", "<!-- open", []),
        ("text", "", []),
    ],
)  # fmt: skip
def test_documents_come_apart_at_their_headings(kind: str, text: str, found: list[tuple[int, str, str]]) -> None:
    """A passage has the line that it begins at, and the headings above it."""
    assert [tuple(one) for one in pieces(text, kind)] == found


def test_what_is_kept_can_be_shown() -> None:
    """Escapes, controls and secrets are gone before anything is kept."""
    text = "# T\x1b]0;x\x07itle\n\ntoken hf_abcdefghijklmnopqrstuvwxyz0123456789 \x1b[31mred\x1b[0m\u202eleft\x00"
    found = pieces(text, "markdown")
    assert all("hf_abc" not in one.text and one.text.isprintable() and one.heading.isprintable() for one in found)


HOSTILE: dict[str, str] = {
    "one line of 512 KB": "x " * (1 << 18),
    "many tags": "<p>" * 50_000,
    "open tags without an end": "<a " * 50_000,
    "open comments": "<!--" * 50_000,
    "brackets": "<" * 100_000,
    "entities": "&amp;" * 50_000,
    "underlines": "a\n===\n" * 20_000,
    "hashes": "# a\n" * 20_000,
    "fences": "```\n" * 20_000,
    "deep headings": "\n".join("#" * (1 + at % 6) + " h" for at in range(20_000)),
    "blank lines": "\n" * 100_000,
}


@pytest.mark.parametrize("kind", ["markdown", "rest", "html", "text"])
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.timeout(60)
def test_hostile_texts_end(kind: str, name: str) -> None:
    """Whatever a document is made of, it is read in linear time, and comes to so many passages of so many letters."""
    found = pieces(HOSTILE[name], kind)
    assert len(found) <= 5000
    assert all(len(one.text) <= 2500 and len(one.heading) <= 160 for one in found)


def _make(folder: Path) -> dict[str, Path]:
    made = {
        name: folder / name for name in ("plain.md", "link.md", "pipe.md", "big.md", "binary.md", "empty.md", "x.exe")
    }
    made["plain.md"].write_text("# A\n\nwords of a document\n")
    made["link.md"].symlink_to("/etc/passwd")
    os.mkfifo(made["pipe.md"])
    with made["big.md"].open("wb") as file:
        file.truncate(9 << 20)
    made["binary.md"].write_bytes(b"\0\1\2" * 100)
    made["empty.md"].write_text("\n\n")
    made["x.exe"].write_text("MZ")
    return made


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("link.md", "is a link"), ("pipe.md", "no regular file"), ("big.md", "larger than 8 MiB"),
        ("binary.md", "binary"),
        ("empty.md", "no words"), ("x.exe", "is no text"), ("nothing.md", "no such file"), ("a\0b.md", "no file name"),
        ("paper.pdf", "pypdf"),
    ],
)  # fmt: skip
def test_what_is_no_document_is_refused_in_one_line(tmp_path: Path, name: str, why: str) -> None:
    """Links, pipes, what is too large or binary: each is refused with a line, and nothing is kept."""
    _make(tmp_path)
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.4\n")
    if name == "paper.pdf" and __import__("importlib.util").util.find_spec("pypdf"):
        why = "no PDF that can be read"
    made, wrong = documents.add([str(tmp_path) + "/" + name], str(tmp_path / "kept"))
    assert made == []
    assert len(wrong) == 1
    assert why in wrong[0].lower() or why in wrong[0]
    assert not (tmp_path / "kept").exists()


def test_a_folder_is_walked_without_following(tmp_path: Path) -> None:
    """Below a folder only regular documents are taken: no links, nothing hidden, no other kinds, no way out."""
    made = _make(tmp_path)
    (tmp_path / "out").symlink_to("/")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "note.md").write_text("# hidden")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "deep.txt").write_text("more words")
    found, _ = named(str(tmp_path))
    assert sorted(found) == sorted(
        str(one) for one in (made["plain.md"], made["big.md"], made["binary.md"], made["empty.md"], made["pipe.md"],
                             tmp_path / "below" / "deep.txt")
    )  # fmt: skip


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    """Between the look and the opening a file may be exchanged for a link."""
    link = tmp_path / "a.md"
    link.symlink_to("/etc/passwd")
    with pytest.raises(Unreadable):
        read(str(link))


def test_kept_found_and_forgotten(tmp_path: Path) -> None:
    """What was added is found by its words, once however often it was added, and gone when it is removed."""
    book = tmp_path / "book"
    book.mkdir()
    (book / "a.md").write_text("# Quota\n\nThe quota of home is 20 GiB.\n")
    (book / "b.txt").write_text("Ports\n=====\n\nPorts below 20000 are closed.\n")
    folder = documents.own()
    assert folder is not None
    for _ in range(2):
        made, wrong = documents.add([str(book)], folder)
        assert (len(made), wrong) == (2, [])
    assert [one.source for one in documents.every()] == [str(book / "a.md"), str(book / "b.txt")] or len(
        documents.every()
    ) == 2
    found = installed().search("quota of home")
    assert found[0][1] == Piece(3, "Quota", "The quota of home is 20 GiB.")
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert documents.remove(str(book), folder)
    assert documents.every() == []
    assert installed().search("quota") == []


def test_the_users_own_stands_before_the_sites(tmp_path: Path) -> None:
    """A document that both have is the user's."""
    book = tmp_path / "a.md"
    book.write_text("# Old\n\nold words\n")
    documents.add([str(book)], documents.of_site())
    book.write_text("# New\n\nnew words\n")
    documents.add([str(book)], str(documents.own()))
    assert [(one.own, one.pieces[0].text) for one in documents.every()] == [(True, "new words")]


DAMAGED = [
    b"", b"{", b"[]", b'{"schema": 1}', b'{"schema": 9, "source": "x", "passages": []}',
    b'{"schema": 1, "source": "x", "passages": [["a", "b", "c"], [1, 2, 3], 7, null, [-1, "", ""]]}',
    b'{"schema": 1, "source": 5, "passages": 3}', b"\xff\xfe", b"[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_store_is_no_failure(content: bytes, tmp_path: Path) -> None:
    """What is kept may be torn or somebody's mischief; a diagnosis goes on without it."""
    folder = Path(str(documents.own()))
    folder.mkdir(parents=True)
    (folder / "0123.json").write_bytes(content)
    (folder / "link.json").symlink_to("/dev/zero")
    assert cited(diagnosis(cause())) == ()


@pytest.mark.parametrize(
    "words", ['"', "a AND b OR NOT", "NEAR(", "*", "title: x", "'; DROP TABLE passages;--", "\ud800", ""]
)
def test_no_word_is_an_operator(handbook: Library, words: str) -> None:
    """What is searched is data, whatever signs it holds."""
    assert isinstance(handbook.search(words), list)


def test_nothing_is_cited_for_a_job_that_succeeded(handbook: Library) -> None:
    """Where nothing is wrong no document is shown."""
    assert cited(diagnosis(cause("none", "quota exceeded")), handbook) == ()


def test_without_documents_nothing_is_searched() -> None:
    """An installation without documents costs nothing, and says nothing."""
    assert cited(diagnosis(cause("disk_quota_or_full", "Disk quota exceeded"))) == ()


def test_the_command(maple: Callable[..., object], tmp_path: Path) -> None:
    """Add, list, search and remove, as an administrator types them."""
    said = maple("admin", "docs", "add", "--own", str(HANDBOOK))
    assert said.code == 0, said  # type: ignore[attr-defined]
    rows = json.loads(maple("admin", "docs", "list", "--json").out)  # type: ignore[attr-defined]
    fits("docs", rows)
    assert sorted(os.path.basename(one["source"]) for one in rows) == [
        "network.md",
        "running.html",
        "software.txt",
        "storage.rst",
    ]
    found = json.loads(maple("admin", "docs", "search", "--json", "Disk quota exceeded").out)  # type: ignore[attr-defined]
    fits("docs", found)
    assert found[0]["heading"].endswith("Quotas")
    assert found[0]["fit"] > 1
    refused = maple("admin", "docs", "add", "--own", "/etc/hosts\x1b[31m")
    assert refused.code == 2  # type: ignore[attr-defined]
    assert "\x1b" not in refused.err  # type: ignore[attr-defined]
    assert maple("admin", "docs", "remove", "--own", str(HANDBOOK)).code == 0  # type: ignore[attr-defined]
    assert maple("admin", "docs", "remove", "--own", str(HANDBOOK)).code == 2  # type: ignore[attr-defined]
