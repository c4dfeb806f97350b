"""Stand-in for python running a training program: one process of a world.

It writes down what it was given, takes its GPU, meets the other ranks as torch's env:// would, and writes down how that
went. Helpers (`python -c`, `python -m pip`, a script that trains nothing) are run by the real interpreter.
"""

import json
import os
import re
import sys
import time

import pmi
import store
import world

LAUNCHERS = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "accelerate.commands.accelerate_cli": "accelerate",
    "deepspeed": "deepspeed",
    "deepspeed.launcher.runner": "deepspeed",
}
HELPERS = re.compile(
    r"prep|download|convert|merge|export|tokeni[sz]e|plot|collect|check|setup|stage|env|list_|report|hosts"
)
TRAINERS = re.compile(r"train|tune|ddp|fsdp|zero|main|run|bench|pipeline")
TRAINS = re.compile(rb"torch|tensorflow|jax|deepspeed|accelerate|lightning|horovod|mpi4py|ezpz|maple-double")
MODULES = re.compile(r"^(pip|venv|json|http|site|sysconfig|compileall|zipfile|ensurepip|timeit|pytest|this|nvitop)\b")
WANTED = re.compile(
    r"^(SLURM_(PROCID|NODEID|LOCALID|NTASKS|JOB_ID|STEP_ID|STEP_NUM_TASKS|NNODES|JOB_NUM_NODES|STEP_TASKS_PER_NODE"
    r"|GPUS_ON_NODE|JOB_GPUS|STEP_GPUS|CPUS_PER_TASK|JOB_NODELIST)|RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE"
    r"|GROUP_RANK|NODE_RANK|MASTER_\w+|CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|OMP_NUM_THREADS"
    r"|TORCHELASTIC_\w+|PMI\w*_(RANK|SIZE)|MPI_LOCAL\w+|OMPI_COMM_WORLD_\w+|PALS_\w+|ACCELERATE_\w+"
    r"|(NCCL|GLOO)_\w+|ZE_\w+|PBS_(JOBID|NODEFILE|NODENUM|VNODENUM|O_WORKDIR))$"
)
# source -> variables for rank, local rank, world size
SOURCES = {
    "torch": ("RANK", "LOCAL_RANK", "WORLD_SIZE"),
    "slurm": ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"),
    "hydra": ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    "pals": ("PALS_RANKID", "PALS_LOCAL_RANKID", "PMI_SIZE"),
}
SPEAKS_MPI = re.compile(rb"mpi4py|horovod|ezpz")


def main(name, argv):
    options, kind, program, arguments = read(argv)
    if kind == "module" and program in LAUNCHERS:
        module = __import__(LAUNCHERS[program])
        if LAUNCHERS[program] == "accelerate" and program.endswith(".launch"):
            arguments = ["launch", *arguments]
        return module.main(program, arguments)
    if kind == "file" and lost(program):
        world.say("%s: can't open file '%s': [Errno 2] No such file or directory" % (name, os.path.abspath(program)))
        return 2
    if kind in ("command", "stdin", "none") or not trains(kind, program):
        return helper(name, argv, kind, program)
    return Leaf(program, arguments).run()


def read(argv):
    """Return python's own options, what is run ("file", "module", "command", "stdin", "none"), it and its arguments."""
    at = 0
    while at < len(argv):
        word = argv[at]
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            at += 2
        elif word == "-" or not word.startswith("-"):
            return argv[:at], "stdin" if word == "-" else "file", word, argv[at + 1 :]
        elif word.startswith("--") or not re.search("[cm]", word):
            at += 1
        else:
            cut = re.search("[cm]", word).start()
            kind = "command" if word[cut] == "c" else "module"
            rest = word[cut + 1 :]
            if rest:
                return argv[:at], kind, rest, argv[at + 1 :]
            return argv[:at], kind, (argv[at + 1 : at + 2] or [""])[0], argv[at + 2 :]
    return argv, "none", "", []


def trains(kind, program):
    """Return whether the program is taken for one that trains."""
    if os.environ.get("MAPLE_ROLE"):
        return os.environ["MAPLE_ROLE"] == "train"
    if "/maple_miniapps/" in program:
        return False  # of `maple verify`: to be run, as its first stage beside them is
    if kind == "module":
        return not MODULES.match(program)
    name = os.path.basename(program)
    if HELPERS.search(name) and not TRAINERS.search(name):
        return False
    text = source(program)
    return text is None or bool(TRAINS.search(text))


def lost(program):
    """Return whether a program is missing: one that no test wrote is taken for present, but not in the home directory.

    A job of PBS starts in its home, a command behind ssh as well, and the user's programs lie elsewhere. A script named
    python is nobody's: torchrun and its like were told to start the interpreter (torch 2.13.0 and accelerate end so);
    nor is one that begins with a long dash, which was to be an option.
    """
    if re.fullmatch(r"python[0-9.]*|-?[^ -~]-?[a-z].*", os.path.basename(program)):
        return not os.path.isfile(program)
    home = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "home")
    here = os.path.dirname(os.path.abspath(program))
    return os.path.isdir(home) and os.path.realpath(here) == os.path.realpath(home) and not os.path.exists(program)


def source(program):
    try:
        with open(program, "rb") as file:
            return file.read(200000)
    except OSError:
        return None


def helper(name, argv, kind, program):
    if kind == "file" and source(program) is None:
        return 0  # a helper that the test did not write: it did its work
    os.execv(world.real(name), [name, *argv])


class Leaf:
    def __init__(self, program, arguments):
        self.program, self.arguments, self.env = program, arguments, os.environ
        self.text = source(program) or b""
        self.rank = self.local_rank = self.size = self.device = None
        self.facts = {}

    def run(self):
        self.who()
        self.write(None, "did not finish")
        why, world_id = "", None
        try:
            why = self.claim()
            if not why:
                why, world_id = self.meet()
        except store.StoreError as error:
            why = str(error)
        except (ValueError, OSError) as error:
            why = "%s: %s" % (type(error).__name__, error)
        self.facts["world_id"] = world_id
        self.write(not why, why)
        if why:
            world.say("[rank%s]: RuntimeError: %s (%s)" % (self.rank, why, world.host()))
            return 1
        if self.rank in (None, 0):
            sys.stdout.write("trained %s: world %s\n" % (self.program, self.size or 1))
        return 0

    def who(self):
        """Find out which rank this is, as the program itself would."""
        self.source = self.env.get("MAPLE_RANKS_FROM") or self.hinted()
        rank, local, size = (self.env.get(name, "") for name in SOURCES[self.source])
        self.rank, self.local_rank, self.size = (int(x) if x.isdigit() else None for x in (rank, local, size))
        self.addr, self.port = self.env.get("MASTER_ADDR", ""), self.env.get("MASTER_PORT", "")
        speaks = self.source != "torch" and SPEAKS_MPI.search(self.text)
        # What MPI's ranks tell each other needs no variable: rank 0 says where it is, whoever it is.
        self.asks_mpi = speaks and "PMI_FD" in self.env and not (self.addr and self.port)
        if not self.asks_mpi and self.source != "torch" and re.search(rb"lightning|mpi4py|horovod", self.text):
            # Lightning makes its own master out of SLURM_*; MPI's ranks need none, so the stand-in takes the same.
            self.addr = self.addr or first_host(self.env)
            # Above the ports of the lab's daemons, below those that scripts choose.
            self.port = self.port or str(28000 + int(self.env.get("SLURM_JOB_ID", "0")) % 1000)

    def hinted(self):
        if b"SLURM_PROCID" in self.text or (
            b"lightning" in self.text and "SLURM_STEP_ID" in self.env and "RANK" not in self.env
        ):
            return "slurm"
        if b"OMPI_COMM_WORLD_RANK" in self.text or (b"mpi4py" in self.text and "OMPI_COMM_WORLD_RANK" in self.env):
            return "openmpi"
        if "PALS_RANKID" in self.env and (
            SPEAKS_MPI.search(self.text) or re.search(b"PALS_RANKID|PMI_RANK", self.text)
        ):
            return "pals"
        if b"PMI_RANK" in self.text or SPEAKS_MPI.search(self.text):
            return "hydra"
        return "torch"

    def claim(self):
        """Take a GPU, as `torch.cuda.set_device(local_rank)` would. Return what is wrong, or ""."""
        visible = world.visible_gpus()
        self.facts.update(gpus=visible, node_gpus=world.node().get("gpus"))
        words = " ".join(self.arguments)
        if (
            self.env.get("MAPLE_DEVICE") == "cpu"
            or not world.node().get("gpus")
            or re.search(r"--cpu\b|device[= ]cpu|\bgloo\b", words)
        ):
            return ""
        if not visible:
            return "No CUDA GPUs are available"
        local = self.local_rank
        if local is None:
            local = int(self.env.get("SLURM_LOCALID") or 0) % len(visible) if self.rank is not None else 0
        if re.search(rb"%\s*torch\.(cuda|xpu)\.device_count\(\)", self.text):
            local %= len(visible)
        if local >= len(visible):
            return "CUDA error: invalid device ordinal (local rank %d, %d visible)" % (local, len(visible))
        self.device = visible[local]
        return ""

    def meet(self):
        """Meet the other ranks. Return what is wrong or "", and the id of the world."""
        needs = self.env.get("MAPLE_NEEDS_RANK") == "1" or b"init_process_group" in self.text
        if self.rank is None and not needs:
            return "", None  # a single process: nobody to meet
        if self.asks_mpi:
            self.addr, self.port = pmi.meeting_point(self.rank)
        for name, value in zip(
            ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"), (self.rank, self.size, self.addr, self.port)
        ):
            if value is None or value == "":
                return (
                    "Error initializing torch.distributed using env:// rendezvous: environment variable %s expected, "
                    "but not set" % name
                ), None
        if self.rank >= self.size:
            return "rank < size. %d vs %d" % (self.rank, self.size), None
        server = None
        if self.rank == 0 and self.env.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
            server = store.Server(int(self.port))
        client = store.Client(self.addr, int(self.port))
        told = client.ask(
            "rank",
            rank=self.rank,
            world=self.size,
            host=world.host(),
            device=self.device,
            local_rank=self.local_rank,
            pid=os.getpid(),
        )
        if server:
            if told["why"]:
                time.sleep(0.2)  # latecomers hear what is wrong
            server.drain()
        return told["why"], told["world_id"]

    def write(self, ok, why):
        folder = self.env.get("MAPLE_FACTS")
        if not folder:
            return
        self.facts.update(
            ok=ok,
            why=why,
            program=self.program,
            arguments=self.arguments,
            host=world.host(),
            pid=os.getpid(),
            ppid=os.getppid(),
            rank=self.rank,
            local_rank=self.local_rank,
            world_size=self.size,
            source=self.source,
            master_addr=self.addr,
            master_port=self.port,
            device=self.device,
            affinity=sorted(os.sched_getaffinity(0)),
            cwd=os.getcwd(),
            chain=self.env.get("MAPLE_CHAIN", "").split(),
            env={k: v for k, v in sorted(self.env.items()) if WANTED.match(k)},
        )
        path = os.path.join(
            folder, "%s-%s-%d.json" % ("x" if self.rank is None else self.rank, world.host(), os.getpid())
        )
        os.makedirs(folder, exist_ok=True)
        with open(path + ".new", "w") as file:
            json.dump(self.facts, file)
        os.rename(path + ".new", path)


def first_host(env):
    """Return the first host of the job, as its Slurm node list or its PBS node file says."""
    if env.get("PBS_NODEFILE"):
        with open(env["PBS_NODEFILE"]) as file:
            return file.readline().strip()
    found = re.match(r"([^\[,]+)(?:\[(\d+))?", env.get("SLURM_JOB_NODELIST", ""))
    return found.group(1) + (found.group(2) or "") if found else ""
