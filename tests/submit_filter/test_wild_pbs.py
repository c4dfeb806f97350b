"""What PBS scripts met outside do in passing, and what of it once was read wrongly or called a mistake."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import Decision, decide, understood
from maple_submit_filter.plan.build import plan
from maple_submit_filter.site.facts import GENERIC_PBS
from maple_submit_filter.types.launch_plan import LaunchPlan
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import show

TWO = "#!/bin/bash\n#PBS -l select=2:ncpus=8:ngpus=4:mpiprocs=1\n#PBS -l place=scatter\n"
HEAD = "cd $PBS_O_WORKDIR\nM=$(head -n1 $PBS_NODEFILE)\nL=$(tail -n1 $PBS_NODEFILE)\n"
REST = "torchrun --nnodes=2 --node_rank=%s --nproc_per_node=4 --master_addr=$M --master_port=29500 train.py"
LOCAL = REST % "0"


def asked(body: str, head: str = TWO) -> Submission:
    source = f"{head}{body}\n".encode()
    return Submission("pbs", (b"qsub", b"j.sh"), source, "file", b"j.sh", b"/w", 1000, {b"HOME": b"/h"})


def planned(body: str, head: str = TWO) -> LaunchPlan:
    """The plan of a job of two nodes of four GPUs, or of what *head* asks for."""
    job = understood(asked(body, head), None)
    assert job is not None
    return plan(job.submission, job.script, job.settings, GENERIC_PBS, job.arguments, job.read)


def decided(body: str, head: str = TWO) -> Decision:
    """What would be done with the job."""
    return decide(asked(body, head), GENERIC_PBS, None)


def words(body: str, head: str = TWO) -> list[str]:
    """What `python a.py` is given on the one launch line."""
    (step,) = planned(body, head).steps
    assert step.program[:2] == (b"python", b"a.py")
    return [show(word) for word in step.program[2:]]


@pytest.mark.parametrize(
    "elsewhere",
    [
        './start_on_node.sh "$L" 1 "$M" &',
        "start_workers $PBS_NODEFILE $M &",
        "python start_workers.py --hosts $PBS_NODEFILE &",
        'pdsh -R ssh -w $L "cd $PBS_O_WORKDIR; ./worker.sh $M" &',
        "pbsdsh -n 1 -- bash $PBS_O_WORKDIR/worker.sh $M &",
        "tail -n +2 $PBS_NODEFILE | parallel -j 8 ssh {} bash /w/worker.sh {#} $M &",
        "tail -n +2 $PBS_NODEFILE | xargs -P 8 -I{} ssh {} bash /w/worker.sh $M &",
        "mpirun -n 1 --host $L ./worker.sh 1 $M &",
        'ssh $L "/w/worker.sh 1 $M" &',
        'ssh "$(pick_a_node)" "/w/worker.sh 1 $M" &',
    ],
)
def test_a_world_short_of_agents_proves_nothing_beside_a_program_that_may_start_the_rest(elsewhere):
    """Nobody has read the worker script; it may well be the other node's torchrun."""
    assert decided(f"{HEAD}{elsewhere}\n{LOCAL}\nwait").findings == ()


@pytest.mark.parametrize(
    "beside",
    [
        "nvidia-smi -l 5 > gpu.log &",
        'for h in $M $L; do ssh $h "mkdir -p /tmp/x; cp data /tmp/x"; done',
        "env | sort",
        "env > all.txt",
        "horovodrun --check-build",
        "torchrun --help > /dev/null",
        "accelerate launch -h | head",
        "deepspeed --help",
    ],
)
def test_programs_that_start_no_training_hide_nothing(beside):
    """A monitor, a copy, or a look at the environment beside it is no second agent."""
    assert [one.code for one in decided(f"{HEAD}{beside}\n{LOCAL}").findings] == ["MPL302"]


def test_a_round_that_may_be_left_early_is_not_sure():
    """`continue` behind a test of this host's name: the other rounds go on, and which they are is not known."""
    loop = f"{HEAD}r=1\nfor n in $(cat $PBS_NODEFILE); do\n [[ $n == $(hostname)* ]] && continue\n"
    body = f'{loop} ssh $n "{REST % "$r"}" &\n r=$((r+1))\ndone\n{LOCAL}\nwait'
    assert [one.code for one in decided(body).findings] == ["MPL411"]  # that ssh begins at home is true of any round


def test_break_and_continue_are_followed_where_the_answer_is_known():
    """The first round is left, the second runs, and the third never comes."""
    body = "for i in 0 1 2; do\n if [ $i = 0 ]; then continue; fi\n if [ $i = 2 ]; then break; fi\n"
    assert words(body + " mpirun -n 1 python a.py $i\ndone") == ["1"]


def test_break_outside_of_a_loop_ends_nothing():
    """bash says that it is meaningless there, and goes on."""
    assert words("break\nmpirun -n 1 python a.py x") == ["x"]


@pytest.mark.parametrize("line", ["M=$(<$PBS_NODEFILE)\nset -- $M", "sort -u $PBS_NODEFILE > hosts\nset -- $(< hosts)"])
def test_a_file_in_a_substitution_is_read(line):
    """`$(< FILE)` once was read as nothing, and a loop over it as no rounds at all."""
    assert words(line + '\nmpirun -n 1 python a.py "$@"') == ["<node 0>", "<node 1>"]


@pytest.mark.parametrize(
    "count",
    [
        "HOSTS=$(cat $PBS_NODEFILE | some_filter)\nN=$(echo $HOSTS | tr ',' '\\n' | wc -l)",
        'HOSTS=$(some_filter)\nN=$(echo "$HOSTS" | wc -l)',
        "N=$(some_filter | tr ',' '\\n' | awk 'END {print NR}')",
    ],
)
def test_lines_of_what_is_not_known_are_not_counted(count):
    """One unknown value may be many lines; a SAFE repair once was made of taking it for one."""
    body = f'{HEAD}{count}\nmpirun -np 2 -ppn 1 bash -c "torchrun --nnodes=$N --nproc_per_node=4 '
    made = decided(f'{body}--node_rank=\\$PMI_RANK --master_addr=$M --master_port=29500 train.py"')
    assert made.findings == () and made.repaired is None


def test_thousands_of_nodes_are_counted_to_the_last():
    """Not up to the 512th."""
    head = "#PBS -l select=2048:mpiprocs=4\n#PBS -l place=scatter\n"
    assert words("mpirun -n 1 python a.py $(sort -u $PBS_NODEFILE | wc -l) $(cat $PBS_NODEFILE | wc -l)", head) == [
        "2048",
        "8192",
    ]


def test_a_node_that_is_not_known_is_not_node_zero_of_the_plan():
    """Which hosts a file names is not known, so neither is how many there are."""
    (step,) = planned("mpirun -np 4 --hostfile $(some_filter) python a.py").steps
    assert step.nodes is None and step.groups[0].nodes is None


def test_a_line_of_eval_stands_where_eval_does():
    """Not in the script's first line."""
    (step,) = planned(f'{HEAD}cmd="{LOCAL}"\n\neval $cmd').steps
    assert step.line == 9


def test_the_working_directory_is_known_after_cd():
    """PWD is what a script builds names with."""
    assert words("cd $PBS_O_WORKDIR\ncd sub\nmpirun -n 1 python a.py $PWD/x") == ["/w/sub/x"]


def test_mpirun_may_be_that_of_pals():
    """`--cpu-bind=list:...` and `--genvall` are no options of srun there."""
    body = "cd $PBS_O_WORKDIR\nmpirun --np 8 --ppn 4 --cpu-bind=list:4:9:14:19 --genvall python3 a.py"
    assert decided(body).findings == ()


@pytest.mark.parametrize(
    ("make", "hosts"),
    [
        ("cat $PBS_NODEFILE > hf\nsed -i 's/$/ slots=4/' hf", ["<node 0>", "slots=4", "<node 1>", "slots=4"]),
        ("cp $PBS_NODEFILE hf\nsed -e 's/$/ slots=2/' -i hf", ["<node 0>", "slots=2", "<node 1>", "slots=2"]),
        ("sort -u $PBS_NODEFILE > a\nmv a hf", ["<node 0>", "<node 1>"]),
        ("cat $PBS_NODEFILE > hf\nsed -i 's/[.]cluster$//' hf", ["<unknown>"]),
        ("cat $PBS_NODEFILE > hf\ncp elsewhere hf", ["<unknown>"]),
    ],
)
def test_files_that_are_copied_or_changed_in_place_are_followed(make, hosts):
    """A hostfile is often made in two steps; what cannot be followed is not what it was before."""
    assert words(f"{make}\nmpirun -n 1 python a.py $(cat hf)") == hosts


@pytest.mark.parametrize(
    "made",
    [
        "$(cat $PBS_NODEFILE | sort -u | tr '\\n' ',' | sed 's/,$//')",
        "$(sort -u $PBS_NODEFILE | paste -sd, | sed -e 's/,$//')",
    ],
)
def test_a_comma_at_the_end_is_taken_off(made):
    """The usual way from a node file to a list of hosts."""
    body = f"H={made}\nmpirun -n 1 python a.py $H $(echo $H | tr ',' '\\n' | wc -l)"
    assert words(body) == ["<node 0>,<node 1>", "2"]


@pytest.mark.parametrize(
    "there",
    ["hostname -i", "hostname -I | awk '{print $1}'", "\"hostname -I | awk '{print \\$1}'\"", "'hostname -s'"],
)
def test_what_a_node_says_of_itself_by_ssh_is_known(there):
    """`head_node_ip=$(ssh $head_node hostname -i)` stands in many scripts."""
    assert words(f'L=$(tail -n1 $PBS_NODEFILE)\nmpirun -n 1 python a.py "$(ssh $L {there})"') == ["<node 1>"]


def test_pbsdsh_to_one_node_starts_there():
    """Each torchrun has a node of its own, and both meet."""
    command = f'bash -c "cd $PBS_O_WORKDIR; {REST % "$n"}"'
    (first, _) = planned(f"{HEAD}for n in 0 1; do\n pbsdsh -n $n -- {command} &\ndone\nwait").steps
    assert [(one.nodes, one.world_size) for one in first.groups] == [(2, 8)]


def test_sums_without_select_may_be_shared_out_over_nodes():
    """On NCI's Gadi `-l ncpus=96 -l ngpus=8` is two nodes; OpenPBS itself makes one chunk of it."""
    head = "#PBS -l ncpus=96\n#PBS -l ngpus=8\n#PBS -l wd\n"
    loop = "M=$(hostname)\nr=0\nfor h in $(uniq $PBS_NODEFILE); do\n"
    found = decided(f'{loop} ssh $h "{REST % "$r"}" &\n r=$((r+1))\ndone\nwait', head).findings
    assert [one.code for one in found] == ["MPL411"]  # that ssh begins at home is true on any number of nodes
    assert planned("true", head).allocation.nodes is None


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("module load x\nR=${RANKS_EACH:-12}", ["12"]),
        ("source settings.sh\nR=${RANKS_EACH:-12}", ["<unknown>"]),
        ("R=${PBS_NGPUS:-12}", ["<unknown>"]),
        ("R=${SCRATCH_OF_SITE:-/tmp}", ["<unknown>"]),
        ("R=${RANKS_EACH:+12}", ["<unknown>"]),
    ],
)
def test_a_number_has_its_default_where_nobody_set_it(body, given):
    """`qsub -v` would have named it, and no module sets how many ranks somebody wants."""
    assert words(f"{body}\nmpirun -n 1 python a.py $R") == given


def test_a_default_that_qsub_was_told_otherwise_is_not_taken():
    """-v stands on the command line."""
    told = asked("R=${RANKS_EACH:-12}\nmpirun -n 1 python a.py $R")
    job = understood(told._replace(argv=(b"qsub", b"-v", b"RANKS_EACH=6", b"j.sh")), None)
    assert job is not None
    (step,) = plan(job.submission, job.script, job.settings, GENERIC_PBS, job.arguments, job.read).steps
    assert step.program[2:] == (b"6",)


@pytest.mark.parametrize(
    ("body", "head"),
    [
        ("for a in {1..8}; do " * 12 + "mpirun -n 64 python a.py; " + "done; " * 12, TWO),
        ("A=$(cat $PBS_NODEFILE | sort | uniq | tac)\n" * 200, "#PBS -l select=4000\n#PBS -l place=scatter\n"),
        ("mpirun -n 64 python a.py\n" * 2000, TWO),
    ],
)
def test_what_is_played_through_has_a_bound(body, head):
    """Loops in loops, and filters over thousands of lines: the rest is said to be unread, and proves nothing."""
    made = planned(f"{body}\ntorchrun --nnodes=2 --node_rank=0 --master_addr=localhost t.py", head)
    assert [why for _, why in made.unread] == ["the script is too long to analyse"]
    assert len(made.steps) < 400


def test_a_script_longer_than_any_that_people_write_is_left_alone():
    """Half a MiB; reading it would take longer than anybody waits."""
    made = decided("# filler\n" * 60000 + LOCAL)
    assert (made.verdict, made.findings) == ("unread", ())
