"""What the sentence of an error says of what kind of thing, where nobody knows its words."""

from __future__ import annotations

import pytest
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.read import read
from maple_agents.diagnose.recognise.complaint_sentences import reading
from maple_agents.diagnose.values import Case, Cause, Ended, LogFile
from maple_agents.templates.knowledge import anchors, entries
from maple_agents.templates.knowledge.entries import CLASSES
from maple_submit_filter.site.facts import GENERIC_SLURM

from tests.agents.debug.voter import often_right

KNOWN = entries()


@pytest.mark.parametrize("sentence, cause", [
    ("zork.errors.SetupError: To use the quux strategy you must have Zork installed", "missing_python_module"),
    ("ValueError: the quux kernels need a package that does not seem to be installed", "missing_python_module"),
    ("zork: Out of memory on device 3 while asking for 12 GiB", "gpu_oom"),
    ("RuntimeError: quux engine: address 10.0.0.7:4242 already taken", "port_in_use"),
    ("zork::Error: number of ranks 6 is not divisible by 4", "wrong_world_size_or_rank"),
    ("quuxd: fatal: coordinator did not respond within 300 s", "rendezvous_timeout_master_unreachable"),
    ("ZorkError: no accelerator found: platform 'quux' is not supported", "backend_unsupported_on_hardware"),
    ("zork: cannot write the index: file system is full", "disk_quota_or_full"),
    ("ZorkError: 36 attention heads are not a multiple of the tensor parallel size 8", "data_or_config_error"),
    ("zork: assert: number of decoder layers should be divisible by the quux stages", "data_or_config_error"),
    ("quux: the driver is too old for this toolkit", "cuda_driver_mismatch"),
])  # fmt: skip
def test_what_is_said_of_what_gives_the_class(sentence, cause):
    """The programs are made up: only the thing and what is said of it count."""
    said = reading(sentence)
    assert said is not None and said.cause == cause


@pytest.mark.parametrize("sentence", [
    "epoch 3 step 120 loss 0.42", "Found 3 images in /data", "Loaded module foo/1.2", "zork: everything went well",
])  # fmt: skip
def test_what_complains_of_nothing_says_nothing(sentence):
    """Words of every day."""
    assert reading(sentence) is None


def test_a_state_far_from_its_thing_is_of_something_else():
    """A port is named, and much later something is busy."""
    assert reading("port 29500 opened %s and the printer is busy" % ("by the main process " * 5)) is None


def test_each_reading_has_a_class_and_is_mostly_right():
    """Of labelled lines; what is less often right than three times of four names nothing."""
    shares = often_right()
    assert sum(share >= 0.75 for share in shares.values()) >= 33


def first(tmp_path, text: str) -> Cause:
    path = tmp_path / "slurm-1.out"
    path.write_text(text, "utf-8")
    digest = read((LogFile(str(path), "both"),), anchors(KNOWN))
    return diagnose(Case(Ended(), "slurm", GENERIC_SLURM), digest, None, KNOWN).causes[0]


def test_where_nobody_knows_the_words_the_sentence_names_a_likely_cause(tmp_path):
    """It is no more than likely, and says who names it."""
    cause = first(tmp_path, "step 1\nTraceback (most recent call last):\n"
                  '  File "a.py", line 1, in <module>\n    f()\n'
                  "zork.errors.SetupError: the quux strategy needs zorklib to be installed\n")  # fmt: skip
    assert cause.cause == "missing_python_module" and cause.likely
    assert cause.evidence[0].text.startswith("zork.errors")
    assert cause.cause in CLASSES
