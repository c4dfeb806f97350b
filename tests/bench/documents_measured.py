"""Cosines of questions and passages by MiniLM, for `bench_documents.py`: JSON in, JSON out."""

from __future__ import annotations

import json
import sys

from maple_agents.templates.retrieval.minilm import configured


def main() -> None:
    """Read {"passages": [...], "questions": [...]}; print a row of cosines for each question."""
    asked = json.load(sys.stdin)
    embedder = configured()
    passages, questions = embedder.vectors(asked["passages"]), embedder.vectors(asked["questions"])
    print("MEASURED" + json.dumps((questions @ passages.T).tolist()))


main()
