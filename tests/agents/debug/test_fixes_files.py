"""Fixes that look among the user's own files: near paths, environments, modules, folders of output."""

from __future__ import annotations

import pytest
from maple_agents.diagnose.fix.corrections import near_path, nearest

from .fix_cases import cure_of, difference, site, submission

NOWHERE = site("", "slurm")


def fixed(how, give, caught, script, cwd, uid=None):
    """Return the lines that change."""
    asked = submission(script.encode(), cwd=str(cwd))
    asked = asked._replace(uid=uid) if uid is not None else asked
    return difference(script, cure_of(how, give, caught, asked, NOWHERE).script)


@pytest.fixture
def project(tmp_path):
    """A folder with a program, a configuration and data."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "zero3.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("word", "becomes"),
    [
        ("src/trian.py", "src/train.py"),
        ("scr/train.py", "src/train.py"),
        ("src/Train.py", "src/train.py"),
        ("config/zero3.json", "configs/zero3.json"),
        ("./src/train.py", ""),
        ("src/other.py", ""),
        ("nowhere/else/train.py", ""),
        ("src/train.py/..", ""),
        ("src\0/train.py", ""),
        ("", ""),
    ],
)
def test_near_path_is_one_part_away(project, word, becomes):
    """One part of a path may be misspelt, and the whole must then be there; what is there needs no help."""
    assert near_path(word, str(project)) == becomes


def test_two_near_names_are_none():
    """Where two are as near nothing is chosen; the same letters in other cases are nearest of all."""
    assert nearest("gpuA100x", ["gpuA100x4", "gpuA100x8"]) == ""
    assert nearest("gpua100X4", ["gpuA100x4", "gpuA100x8"]) == "gpuA100x4"
    assert nearest("train_small.yaml", ["train-small.yaml", "train_smaller.yaml"]) == "train-small.yaml"


def test_near_path_is_put_where_the_script_says_the_other(project):
    """Only the bytes that differ change, in the word, behind `=` and in an assignment; the quotes stay."""
    script = (
        "#!/bin/bash\n"
        "CONF='config/zero3.json'\n"
        'srun python "src/train.py" --config=config/zero3.json --deepspeed config/zero3.json\n'
    )
    assert fixed("near-path", {"what": "{path}"}, {"path": "config/zero3.json"}, script, project) == (
        "-CONF='config/zero3.json'",
        '-srun python "src/train.py" --config=config/zero3.json --deepspeed config/zero3.json',
        "+CONF='configs/zero3.json'",
        '+srun python "src/train.py" --config=configs/zero3.json --deepspeed configs/zero3.json',
    )


def test_log_may_name_the_whole_path(project):
    """Python says the whole path of a program that the script names from its folder."""
    script = "#!/bin/bash\nsrun python src/trian.py\n"
    caught = {"path": "%s/src/trian.py" % project}
    assert fixed("near-path", {"what": "{path}"}, caught, script, project)[1] == "+srun python src/train.py"


def test_path_from_where_the_script_goes(project):
    """`cd` by a plain name is followed; the program is looked for there."""
    script = "#!/bin/bash\ncd src\nsrun python trian.py\n"
    caught = {"path": "%s/src/trian.py" % project}
    assert fixed("near-path", {"what": "{path}"}, caught, script, project)[1] == "+srun python train.py"
    other = script.replace("cd src", "cd configs")
    assert fixed("near-path", {"what": "{path}"}, caught, other, project) == ()


def test_files_of_another_user_are_not_looked_for(project):
    """What a diagnosis by root may see, it must not use."""
    script = "#!/bin/bash\nsrun python src/trian.py\n"
    assert fixed("near-path", {"what": "{path}"}, {"path": "src/trian.py"}, script, project, uid=4242) == ()


@pytest.mark.parametrize(
    "name", ["$(reboot).py", "a b.py", "-rf.py", "x;y.py", "tra`id`in.py", "trainü.py", "tra'in.py"]
)
def test_name_of_a_file_that_is_more_than_a_word_is_not_taken(tmp_path, name):
    """Names in a folder are hostile, too."""
    (tmp_path / name).write_text("")
    script = "#!/bin/bash\nsrun python %s\n" % ("train.py" if "tra" in name else name[1:])
    wanted = script.split()[-1]
    assert fixed("near-path", {"what": "{path}"}, {"path": wanted}, script, tmp_path) == ()


def test_near_environment_of_conda(tmp_path, monkeypatch):
    """A name that conda does not know is looked for among those that it lists."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".conda").mkdir()
    (tmp_path / ".conda" / "environments.txt").write_text("/opt/conda\n/home/me/envs/llm-train\n")
    script = "#!/bin/bash\nconda activate llm_train\nsrun python a.py\n"
    assert (
        fixed("near-path", {"what": "{name}"}, {"name": "llm_train"}, script, tmp_path)[1]
        == "+conda activate llm-train"
    )


def environment(folder, module=""):
    """Make a Python environment with a package."""
    packages = folder / "lib" / "python3.11" / "site-packages"
    (packages / (module or "other")).mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "activate").write_text("")


def test_environment_that_has_the_package_is_activated(tmp_path, monkeypatch):
    """Exactly one environment of the user's has it, and the script activates none."""
    monkeypatch.setenv("HOME", str(tmp_path))
    environment(tmp_path / ".venv", "einops")
    environment(tmp_path / "venv")
    script = "#!/bin/bash\nsrun python a.py\n"
    caught = {"module": "einops.layers"}
    line = "+. %s/.venv/bin/activate" % tmp_path
    assert fixed("replace-python", {}, caught, script, tmp_path) == (line,)
    assert fixed("replace-python", {}, caught, script.replace("srun", ". x/bin/activate; srun"), tmp_path) == ()
    environment(tmp_path / "env", "einops")
    assert fixed("replace-python", {}, caught, script, tmp_path) == ()


def test_module_that_the_folders_have(tmp_path, monkeypatch):
    """A misspelt module, and a version that is not there, become the only one that is near; two versions are none."""
    for name in ("pytorch/2.8", "cuda/12.4", "gcc/12", "gcc/13"):
        (tmp_path / name.split("/")[0]).mkdir(exist_ok=True)
        (tmp_path / (name + ".lua")).write_text("")
    monkeypatch.setenv("MODULEPATH", str(tmp_path))
    from maple_agents.diagnose.fix.kinds.module_lines import _near, _seen

    known = sorted(_seen())
    assert _near("pytroch", known) == "pytorch"
    assert _near("cuda/11.8", known) == "cuda/12.4"
    assert _near("gcc/9", known) == ""
    script = "#!/bin/bash\n#SBATCH --nodes=1\nsrun python a.py\n"
    assert fixed("module-of-site", {"what": "nvcc"}, {}, script, tmp_path) == ("+module load cuda",)


def test_output_goes_to_a_folder_that_is_there(tmp_path):
    """Beside the script, or into the folder that is nearly called so."""
    script = "#!/bin/bash\n#SBATCH --output=logs/%x-%j.out\nsrun python a.py\n"
    assert fixed("correct-value", {"what": "output"}, {}, script, tmp_path)[1] == "+#SBATCH --output=%x-%j.out"
    (tmp_path / "log").mkdir()
    assert fixed("correct-value", {"what": "output"}, {}, script, tmp_path)[1] == "+#SBATCH --output=log/%x-%j.out"
    (tmp_path / "logs").mkdir()
    assert fixed("correct-value", {"what": "output"}, {}, script, tmp_path) == ()


def test_script_that_may_not_be_executed_is_given_to_bash(tmp_path):
    """A shell script called by its name, without the right to execute it; a program of another kind is left alone."""
    (tmp_path / "run.sh").write_text("#!/bin/bash\n")
    (tmp_path / "a.out").write_text("\x7fELF")
    script = "#!/bin/bash\nsrun ./run.sh\n./a.out\n"
    assert fixed("correct-value", {"what": "{path}"}, {"path": "./run.sh"}, script, tmp_path) == (
        "-srun ./run.sh", "+srun bash ./run.sh",
    )  # fmt: skip
    told = {"path": "%s/./run.sh" % tmp_path}  # as slurmstepd says it
    assert fixed("correct-value", {"what": "{path}"}, told, script, tmp_path)[1] == "+srun bash ./run.sh"
    assert fixed("correct-value", {"what": "{path}"}, {"path": "./a.out"}, script, tmp_path) == ()


def test_functions_of_conda_are_read_where_the_environment_lies(tmp_path):
    """In front of the line that activates it, and only where the log speaks of conda."""
    functions = tmp_path / "mf" / "etc" / "profile.d" / "conda.sh"
    functions.parent.mkdir(parents=True)
    functions.write_text("")
    script = "#!/bin/bash\nset -e\nconda activate %s/mf/envs/llm\nsrun python a.py\n" % tmp_path
    asked = submission(script.encode(), cwd=str(tmp_path))
    told = "slurm_script: line 3: conda: command not found"
    made = cure_of("conda-functions", {}, {}, asked, NOWHERE, log=told)
    assert difference(script, made.script) == ("+source %s" % functions,)
    assert cure_of("conda-functions", {}, {}, asked, NOWHERE, log="python: not found").script is None
    others = asked._replace(uid=asked.uid + 1)
    assert cure_of("conda-functions", {}, {}, others, NOWHERE, log=told).script is None
