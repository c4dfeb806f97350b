"""Shells and the C library speak the user's language: it is judged as English is, and shown as it was said."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose.read import literals, read
from maple_agents.diagnose.read.literals import english, english_of
from maple_agents.diagnose.values import Digest, LogFile, Severity

MISSING = "No such file or directory"
SAID = {
    "j: Zeile 14: /v/activate: Datei oder Verzeichnis nicht gefunden": f"j: line 14: /v/activate: {MISSING}",
    "slurm_script: ligne 12: cd: /x: Aucun fichier ou dossier de ce nom": f"slurm_script: line 12: cd: /x: {MISSING}",
    "job.sh\xa0: ligne 9\xa0: torchrun\xa0: commande introuvable": "job.sh: line 9: torchrun: command not found",
    "job.sh: línea 8: torchrun: orden no encontrada": "job.sh: line 8: torchrun: command not found",
    "bash: riga 3: python: comando non trovato": "bash: line 3: python: command not found",
    "job.sh, linha 3: python: comando não encontrado": "job.sh: line 3: python: command not found",
    "job.sh: 5 行: torchrun: コマンドが見つかりません": "job.sh: line 5: torchrun: command not found",
    "job.sh: Zeile 2: $'\\r': Kommando nicht gefunden.": "job.sh: line 2: $'\\r': command not found",
    "job.sh: Zeile 3: DATA ist nicht gesetzt.": "job.sh: line 3: DATA: unbound variable",
    "job.sh: Zeile 5:  4711 Getötet      python train.py": "job.sh: line 5:  4711 Killed      python train.py",
    "j: Zeile 5:  47 Speicherzugriffsfehler  (Speicherabzug geschrieben) py":
        "j: line 5:  47 Segmentation fault  (core dumped) py",
    "job.sh: 第 9 行：torchrun: 未找到命令": "job.sh: line 9: torchrun: command not found",
    "job.sh: 行 9: /data: 设备上没有空间": "job.sh: line 9: /data: No space left on device",
    "/data/x: Permission non accord?e": "/data/x: Permission denied",
    "OSError: [Errno 28] No queda espacio en el dispositivo: '/x'": "OSError: [Errno 28] No space left on device: '/x'",
    "job.sh: l\ufffdnea 8: x: Auf dem Ger\ufffdt ist kein Speicherplatz mehr verf\ufffdgbar":
        "job.sh: line 8: x: No space left on device",
}  # fmt: skip


@pytest.mark.parametrize(("said", "meant"), SAID.items(), ids=list(SAID.values()))
def test_sentences_in_english(said: str, meant: str) -> None:
    """The sentence, the word for a line, the space before a colon; done twice it is the same."""
    assert english(said) == meant == english(meant)


@pytest.mark.parametrize(
    "said", ["step 5 loss 0.2", "Abandon ship", "Beendet", "mot: Morton", "ist nicht gesetzte Zeit", ""]
)
def test_other_words_stay(said: str) -> None:
    """Words that are no sentence of these stay, whatever language they are of."""
    assert english(said) == said


def test_every_sentence_is_found() -> None:
    """Each one of the table, in front of a full stop and behind a colon."""
    for said, meant in english_of().items():
        assert english(f"x: {said}") == f"x: {meant}" == english(f"x: {said}.").removesuffix(".")


def test_the_table_is_of_known_sentences() -> None:
    """What the table gives is what the expressions of severity know; a wrong key would go unseen."""
    harmless = {"Is a directory", "Not a directory", "File exists", "Input/output error"}
    assert {"No such file or directory", "command not found", "Disk quota exceeded"} <= set(english_of().values())
    assert harmless < set(english_of().values()) and all(one.isascii() for one in english_of().values())


def told(tmp_path: Path, data: bytes) -> Digest:
    (tmp_path / "job.out").write_bytes(data)
    return read([LogFile(str(tmp_path / "job.out"), "both")])


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_a_foreign_failure_is_an_event(tmp_path: Path, encoding: str) -> None:
    """It sounds as bad as in English, in the middle of a long log as well, and is shown in its own words."""
    line = "job.sh: Zeile 9: /x: Auf dem Gerät ist kein Speicherplatz mehr verfügbar\n"
    text = "step 1\n" * 3000 + line + "step 2\n" * 3000
    (event,) = told(tmp_path, text.encode(encoding)).events
    assert event.severity == Severity.ERROR and event.place.line == 3001
    assert event.text.startswith("job.sh: Zeile 9: /x: Auf dem Ger")


def test_a_foreign_death(tmp_path: Path) -> None:
    """Bash tells of a killed process in the user's language."""
    (event,) = told(tmp_path, "job.sh: Zeile 5:  4711 Getötet      python train.py\n".encode()).events
    assert event.severity == Severity.FATAL


def test_the_search_knows_both_encodings() -> None:
    """A sentence is found in a log in UTF-8 and in Latin-1."""
    search = literals.Search()
    for encoding in ("utf-8", "latin-1"):
        assert search.sort(
            "Verbindungsaufbau abgelehnt, Gerät: Das Gerät oder die Ressource ist belegt".encode(encoding).lower()
        )
