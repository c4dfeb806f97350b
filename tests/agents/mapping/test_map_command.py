"""`maple map`: findings in one line each, the picture, and the line in `maple check`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

SCRIPT = """\
#!/bin/bash
#SBATCH --partition=gpuA100x4
#SBATCH --account=abcd-delta-gpu
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --mem=200G
#SBATCH --time=01:00:00
srun {} python pretrain_gpt.py --tensor-model-parallel-size 4
"""
TREE = "SwitchName=l0 Level=0 Nodes=n[0,2]\nSwitchName=l1 Level=0 Nodes=n[1,3]\n"


def test_a_finding_is_one_line_with_cause_cure_and_cost(maple, tmp_path: Path) -> None:
    """And the exit code says that there is one."""
    (tmp_path / "job.sh").write_text(SCRIPT.format("-m cyclic"))
    said = maple("map", "check", "job.sh", "--site", "ncsa-delta")
    assert said.code == 1 and said.out.splitlines()[0].startswith(
        "job.sh:9: tensor-parallel group {0,1,2,3} crosses nodes: about "
    )
    assert said.out.splitlines()[0].endswith("cause: -m cyclic; -m block keeps it on one")


def test_a_right_script_has_none(maple, tmp_path: Path) -> None:
    """It is said that nothing was found."""
    (tmp_path / "job.sh").write_text(SCRIPT.format(""))
    said = maple("map", "check", "job.sh", "--site", "ncsa-delta")
    assert said.code == 0 and said.out.startswith("job.sh: nothing found\n")


def test_the_picture_shows_nodes_below_their_switches(maple, tmp_path: Path) -> None:
    """With a letter for each group, and what each axis crosses."""
    (tmp_path / "job.sh").write_text(SCRIPT.format(""))
    (tmp_path / "topology.conf").write_text(TREE)
    network = ("--topology", "topology.conf", "--hosts", "n[0-3]")
    said = maple("map", "show", "job.sh", "--site", "ncsa-delta", *network)
    assert "  leaf l0\n    node 0   [  0a] [  1a] [  2a] [  3a]\n  leaf l1\n" in said.out
    assert "dp  4 groups of 4: all over the network's upper levels" in said.out


def test_the_svg_is_drawn_once(maple, tmp_path: Path) -> None:
    """A box for each rank and node; a file that is there is kept."""
    (tmp_path / "job.sh").write_text(SCRIPT.format("-m cyclic"))
    assert maple("map", "show", "job.sh", "--site", "ncsa-delta", "--svg", "job.svg").code == 0
    root = ElementTree.fromstring((tmp_path / "job.svg").read_text())
    kinds = [one.tag.rpartition("}")[2] for one in root]
    assert kinds.count("rect") == 1 + 4 + 16 and kinds.count("line") == 12
    again = maple("map", "show", "job.sh", "--site", "ncsa-delta", "--svg", "job.svg")
    assert again.code != 0 and "job.svg: File exists" in again.err


def test_a_file_that_is_no_topology_is_told_in_one_line(maple, tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / "job.sh").write_text(SCRIPT.format(""))
    (tmp_path / "topology.conf").write_text("nothing\n")
    said = maple("map", "check", "job.sh", "--topology", "topology.conf", "--hosts", "n[0-3]")
    assert said.code != 0 and said.err.count("\n") == 1 and "scontrol show topology" in said.err


def test_lstopo_tells_of_cores_near_gpus(maple, tmp_path: Path) -> None:
    """Its masks are read, and it counts before the site file."""
    gpu = '<object pci_busid="0000:{0:02d}:00.0"><object type="OSDev" name="cuda{0}" osdev_type="5"/></object>'
    packages = "".join(
        f'<object type="Package" cpuset="{mask}"><object type="Bridge">{gpu.format(index)}</object></object>'
        for index, mask in enumerate(("0x0000000f", "0x000000f0"))
    )
    (tmp_path / "node.xml").write_text(f'<topology><object type="Machine" cpuset="0xff">{packages}</object></topology>')
    script = SCRIPT.replace("--ntasks-per-node=4", "--ntasks-per-node=2")
    (tmp_path / "job.sh").write_text(script.format("--cpu-bind=map_cpu:4,0"))
    said = maple("map", "check", "job.sh", "--site", "ncsa-delta", "--lstopo", "node.xml")
    assert "local rank 0 drives GPU 0, and is bound to cores near GPU 1" in said.out


def test_maple_check_says_what_no_rule_says(maple, tmp_path: Path) -> None:
    """Cores beside the wrong GPU; the groups are a rule's."""
    (tmp_path / "job.sh").write_text(SCRIPT.format("-m cyclic --cpu-bind=map_cpu:0,16,32,48"))
    said = maple("check", "job.sh", "--site", "ncsa-delta")
    assert "MPL331" in said.out and said.out.count("crosses nodes") == 0
    assert "map: job.sh:9: local rank 0 drives GPU 0, and is bound to cores near GPU 3" in said.out


def test_maple_check_draws_nothing_in_for_a_plain_script(maple, tmp_path: Path) -> None:
    """One line less, and nothing loaded."""
    (tmp_path / "job.sh").write_text(SCRIPT.format("").replace(" --tensor-model-parallel-size 4", ""))
    assert "map:" not in maple("check", "job.sh", "--site", "ncsa-delta").out
