"""A model that is served is a program of one process, and its size is that of its command."""

from __future__ import annotations

import pytest
from maple_agents.request.words import read


@pytest.mark.parametrize(
    ("words", "program", "gpus"),
    [
        ("serve org/M-7B with vllm, tensor parallel 2, one node", "vllm serve org/M-7B --tensor-parallel-size 2", 2),
        ("vllm serve org/M-7B TP=4, one node", "vllm serve org/M-7B --tensor-parallel-size 4", 4),
        ("vllm serve org/M-7B -tp 8 on 8 gpus", "vllm serve org/M-7B -tp 8", 8),
        ("an sglang server for org/M-7B on 1 gpu", "python -m sglang.launch_server --model-path org/M-7B", 1),
        ("vllm serve on 2 gpus, no model yet", "", 2),
        ("python serve.py with vllm, tp 2, 2 gpus", "python serve.py", 2),
    ],
)
def test_the_command_is_written_whole(words: str, program: str, gpus: int) -> None:
    """With the model by its name on the hub; without one nobody knows what is to be run."""
    slots = read(words).slots
    assert (slots.text("program"), slots.number("gpus_total")) == (program, gpus)
