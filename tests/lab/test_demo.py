"""The demo shows what it claims, and fails where it could not be seen."""

from __future__ import annotations

import os

import pytest

from tests.lab import Lab, demo


@pytest.fixture
def labs(monkeypatch):
    """The directories of the labs that were started."""
    started = []

    def start(self):
        made = begin(self)
        started.append(self.directory)
        return made

    begin = Lab.start
    monkeypatch.setattr(Lab, "start", start)
    return started


@pytest.mark.parametrize("site", ["ncsa-delta", "nersc-perlmutter"])
def test_a_broken_job_runs_on_all_gpus_with_the_same_command(site, labs, capsys):
    """The bare job fails, the other one has each rank once, and nothing is left behind."""
    assert demo.main([site]) == 0, capsys.readouterr().out
    said = capsys.readouterr().out
    assert said.count("$ sbatch train.sh") == 2
    assert "each rank from 0 to 15 exactly once" in said
    assert len(labs) == 1 and not os.path.exists(labs[0])


def test_a_demo_without_a_repair_fails(labs, monkeypatch, capsys):
    """Where Maple only watches, the second job fails as the first did; the demo says so and cleans up."""
    install = demo.Stage.install

    def watch(self):
        install(self)
        conf = f"{self.prefix}/current/etc/front.conf"
        with open(conf) as file:
            text = file.read()
        with open(conf, "w") as file:
            file.write(text.replace("mode=repair", "mode=observe"))

    monkeypatch.setattr(demo.Stage, "install", watch)
    assert demo.main(["ncsa-delta"]) == 1
    assert "demo: not seen: job 2, by the same command: COMPLETED" in capsys.readouterr().out
    assert len(labs) == 1 and not os.path.exists(labs[0])
