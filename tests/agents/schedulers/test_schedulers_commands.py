"""Commands run within bounds: of time, of output, and in the C locale."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from maple_agents.ask.schedulers import SchedulerError
from maple_agents.ask.schedulers.commands import quiet_environment, run

ENV = {"PATH": "/usr/bin:/bin"}


def test_output_exit_code_and_bytes_that_are_no_text_come_back():
    said = run(["sh", "-c", r"printf '\351\n'; echo no >&2; exit 35"], timeout=20, env=ENV)
    assert (said.code, said.out, said.err) == (35, "\udce9\n", "no\n")


def test_a_signal_is_a_negative_code():
    assert run(["sh", "-c", "kill -9 $$"], timeout=20, env=ENV).code == -9


def test_words_are_never_read_by_a_shell():
    assert run(["printf", "%s", "$(id); `id` \n'"], timeout=20, env=ENV).out == "$(id); `id` \n'"


def test_a_lot_of_output_comes_back_whole_and_too_much_is_refused():
    script = [sys.executable, "-IS", "-c", "print('x' * 3_000_000)"]
    assert len(run(script, timeout=30, env=ENV).out) == 3_000_001
    with pytest.raises(SchedulerError, match="said more than 100000 bytes"):
        run(script, timeout=30, env=ENV, limit=100_000)


def test_what_a_command_leaves_in_the_background_is_not_waited_for():
    """qsub leaves a process behind; one that kept our pipe must not hold us up until it ends."""
    said = run(["sh", "-c", "sleep 60 & echo $!"], timeout=20, env=ENV)
    os.kill(int(said.out), signal.SIGKILL)
    assert said.code == 0


def test_stdin_is_given_or_empty():
    assert run(["cat"], timeout=20, env=ENV, stdin=b"show job 1\n").out == "show job 1\n"
    assert run(["cat"], timeout=20, env=ENV).out == ""
    assert run(["true"], timeout=20, env=ENV, stdin=b"x" * 60000).code == 0


def test_variables_that_would_change_the_form_of_an_answer_are_left_out():
    given = {"SQUEUE_FORMAT": "%i", "SLURM_CONF": "/c", "LC_TIME": "de_DE", "LANG": "de_DE", "SLURM_CLUSTERS": "x"}
    assert quiet_environment(given, TZ="UTC0") == {"SLURM_CONF": "/c", "LANG": "de_DE", "LC_ALL": "C", "TZ": "UTC0"}


def test_a_nul_in_a_word_is_one_line():
    with pytest.raises(SchedulerError, match="cannot be run"):
        run(["echo", "a\0b"], timeout=5, env=ENV)
