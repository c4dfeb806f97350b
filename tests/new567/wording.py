"""A job in words: complete, terse, wordy with much that does not matter, or with something left out.

Written without a look at the grammar and its phrase lists, and to stay so: requests that the grammar's author has in
mind measure the author.
"""

from __future__ import annotations

import random
from collections.abc import Collection

from tests.new567.jobs import Job

PARADIGM = {
    "ddp": ("DDP", "PyTorch DDP", "DistributedDataParallel", "plain data parallelism (DDP)", "torch DDP"),
    "fsdp": ("FSDP", "PyTorch FSDP", "fully sharded data parallel", "FullyShardedDataParallel", "FSDP2"),
    "zero3": ("ZeRO-3", "DeepSpeed ZeRO-3", "DeepSpeed ZeRO stage 3", "ZeRO stage 3", "deepspeed zero3"),
    "accelerate-ddp": ("Accelerate", "Hugging Face Accelerate", "HF Accelerate (data parallel)", "accelerate with DDP"),
}
MODEL = {
    "gpt2-xl": ("GPT-2 XL", "gpt2-xl", "GPT2-XL"),
    "llama-3.1-8b": ("Llama-3.1-8B", "Llama 3.1 8B", "meta-llama/Llama-3.1-8B"),
    "bert-base": ("BERT-base", "bert-base-uncased", "BERT base"),
    "vit-base": ("ViT-base", "ViT-B/16", "ViT base"),
    "resnet-18": ("ResNet-18", "resnet18", "a ResNet 18"),
}
COUNTS = {1: "one", 2: "two", 3: "three", 4: "four"}
BEFORE = (
    "Hi there, I'm a second-year PhD student and our group meets on Thursdays at 3 pm.",
    "Hello, hope you had a good weekend! My advisor wants results before the deadline in 14 days.",
    "So, on my laptop with one RTX 3090 this takes about 9 days, which is clearly too long.",
    "Good morning. We moved offices (room 412 now), so please ignore my old phone number.",
    "Our previous intern used a spreadsheet with 27 tabs to track experiments, which was fun.",
)
AMID = (
    "The dataset is roughly 80 GB of text in 512 shards, learning rate 3e-4, effective batch size 256.",
    "I read a blog post that claims 70% utilisation but I doubt it.",
    "We already burned 5 weekends on a loss spike at step 12000, it was a data bug after all.",
    "Last year somebody told me to set the seed to 42, no idea whether that matters.",
    "It converges after around 3 epochs, validation happens every 500 steps.",
)
AFTER = (
    "Thanks a lot, and greetings to the whole team!",
    "No rush, I will be hiking until Monday anyway.",
    "If it works I owe you 2 coffees.",
    "By the way the cafeteria soup was great today.",
)


def complete(job: Job, chance: random.Random, leave: Collection[str] = ()) -> str:
    """Return a request that says everything, save the slots in *leave*, in whole sentences."""
    said = _Said(job, chance, leave)
    form = chance.choice((_imperative, _need, _listing, _lines, _question, _report))
    return form(said)


def terse(job: Job, chance: random.Random, leave: Collection[str] = ()) -> str:
    """Return the same in as few words as a tired user types."""
    said = _Said(job, chance, leave)
    return chance.choice((_keywords, _keywords, _semicolons))(said)


def _keywords(said: _Said) -> str:
    job, chance, leave = said.job, said.chance, said.leave
    place = f"{said.word} {job.place.name}" if said.word == "qos" or chance.random() < 0.5 else f"-p {job.place.name}"
    place = f"queue {job.place.name}" if said.word == "queue" else place
    parts = [
        said.how("", short=True),
        said.model(),
        said.site() and said.site().lower(),
        "" if "nodes" in leave else chance.choice((f"{job.nodes} nodes", f"{job.nodes}n", f"nodes={job.nodes}")),
        "" if said.left("place") else f"{place} {said.gpu()}".rstrip(),
        "" if "walltime" in leave else _clock(job, chance),
        said.paid(chance.choice(("account {}", "acct={}", "-A {}"))),
        "" if said.left("filesystems") else f"filesystems {job.file_systems}",
    ]  # fmt: skip
    joint = chance.choice((" ", ", "))
    return joint.join(one for one in parts if one) + joint + job.program


def wordy(job: Job, chance: random.Random, leave: Collection[str] = ()) -> str:
    """Return a long letter with numbers in it that do not matter."""
    said = _Said(job, chance, leave)
    return chance.choice((_letter, _chat))(said)


def _letter(said: _Said) -> str:
    job, chance, leave = said.job, said.chance, said.leave
    count = COUNTS[job.nodes] if chance.random() < 0.6 else str(job.nodes)
    nodes = f"{count} node" + ("s" if job.nodes > 1 else "")
    amid = chance.sample(AMID, 2)
    lines = [
        chance.choice(BEFORE),
        f"I would like to {said.task()}{said.how(' using ')}{said.at()}.",
        amid[0],
        "" if "nodes" in leave else f"{nodes.capitalize()} should do, with every GPU on them busy.",
        "" if "walltime" in leave else f"Please let it run for at most {_time(job, chance)}.",
        said.paid("The allocation to charge is {}."),
        said.goes("It should go to the {} {}{}."),
        said.files("The job touches the file systems {}."),
        amid[1],
        f"What I start by hand is `{job.program}`.",
        chance.choice(AFTER),
    ]
    return " ".join(one for one in lines if one)


def small(job: Job, chance: random.Random) -> str:
    """Return what has to be said beside a script of another cluster: who pays, and where it goes."""
    said = _Said(job, chance, ())
    parts = [said.paid("charge {}"), said.goes("{} {}{}"), said.files("filesystems {}")]
    return ", ".join(one for one in parts if one)


def _imperative(said: _Said) -> str:
    job, chance = said.job, said.chance
    parts = [
        f"{chance.choice(('Write', 'Create', 'Give me', 'Please make'))} a batch script to {said.task()}",
        said.how(" with "),
        said.nodes(" on {}"),
        said.at(),
        "" if "walltime" in said.leave else f" for {_time(job, chance)}",
        said.paid(", account {}"),
        said.goes(", {} {}{}"),
        said.files(", using the filesystems {}"),
    ]
    return "".join(parts) + f". The command is `{job.program}`."


def _need(said: _Said) -> str:
    job, chance = said.job, said.chance
    parts = [
        f"I need to {said.task()}{said.at()}{said.how(' with ')}.",
        said.nodes(" Use {}, all the GPUs of each."),
        "" if "walltime" in said.leave else f" Time limit {_time(job, chance)}.",
        said.paid(" Charge it to {}."),
        said.goes(" Submit to {} {}{}."),
        said.files(" It needs the filesystems {}."),
    ]
    return "".join(parts) + f" Run: {job.program}"


def _listing(said: _Said) -> str:
    job, chance = said.job, said.chance
    parts = [
        said.how("", short=True),
        said.model(),
        said.nodes("{}"),
        "" if "walltime" in said.leave else f"walltime {_time(job, chance)}",
        said.paid("project {}"),
        said.goes("{} {}{}"),
        said.files("filesystems {}"),
    ]
    return f"{said.site() or 'Here'}: " + ", ".join(one for one in parts if one) + f"\nprogram: {job.program}"


def _lines(said: _Said) -> str:
    job, chance = said.job, said.chance
    parts = [
        f"{chance.choice(('Training job', 'New job', 'Job'))}{said.at()}",
        said.model() and f"model: {said.model()}",
        said.how("strategy: ", short=True),
        "" if "nodes" in said.leave else f"nodes: {job.nodes}",
        "" if "nodes" in said.leave else f"GPUs per node: {job.place.ranks}",
        "" if "walltime" in said.leave else f"time: {_time(job, chance)}",
        said.paid("account: {}"),
        "" if said.left("place") else f"{said.word}: {job.place.name}",
        f"GPU: {job.place.said}" if said.gpu() and not said.left("place") else "",
        said.files("filesystems: {}"),
        f"command: {job.program}",
    ]
    return "\n".join(one for one in parts if one)


def _question(said: _Said) -> str:
    job, chance = said.job, said.chance
    parts = [
        f"Could you prepare a submission script that lets me {said.task()}{said.at()}{said.how(', distributed by ')}?",
        said.nodes(" I have {} in mind"),
        "" if "walltime" in said.leave else f" and {_time(job, chance)} should be plenty",
        "." if {"nodes", "walltime"} - set(said.leave) else "",
        said.paid(" Please bill {}."),
        said.goes(" Send it to the {0} {1}{2}."),
        said.files(" File systems in use: {}."),
    ]
    return "".join(parts) + f"\n\n    {job.program}\n"


def _report(said: _Said) -> str:
    job, chance = said.job, said.chance
    task = said.task().replace("start our", "do a").replace("run a", "do a")
    parts = [
        f"We {task}{said.how(' by ')}{said.nodes(' over {}')}{said.at()}.",
        "" if "walltime" in said.leave else f" It takes {_time(job, chance)}.",
        said.paid(" The account is {}."),
        said.goes(" The {0} is {1}{2}."),
        said.files(" The filesystems are {}."),
    ]
    return "".join(parts) + f" It is started as `{job.program}`."


def _semicolons(said: _Said) -> str:
    job, chance = said.job, said.chance
    parts = [
        f"{said.site() or 'here'} {'' if 'nodes' in said.leave else f'{job.nodes} nodes'}".strip(),
        said.how(""),
        said.model(),
        "" if "walltime" in said.leave else f"max {_time(job, chance)}",
        said.goes("{0}={1}{2}"),
        said.paid("project={}"),
        said.files("fs={}"),
    ]
    return "; ".join(one for one in parts if one) + f"; run {job.program}"


def _chat(said: _Said) -> str:
    job, chance = said.job, said.chance
    amid = chance.sample(AMID, 2)
    lines = [
        f"Hey! Quick one{said.at()}: I am supposed to {said.task()}{said.how(' and the group insists on ')}.",
        amid[0],
        "" if "nodes" in said.leave else f"We were given {job.nodes} node{'s' if job.nodes > 1 else ''} to play with.",
        "" if "walltime" in said.leave else f"The scheduler may kill it after {_time(job, chance)}.",
        amid[1],
        said.paid("It goes on the books of {}."),
        said.goes("Last time I used the {1} {0}{2}, same again please."),
        said.files("It reads and writes on {}, so mention these filesystems."),
        f"The line is\n`{job.program}`\n",
        chance.choice(AFTER),
    ]
    return " ".join(one for one in lines if one)


class _Said:
    """Parts of sentences about one job; what is left out is "" everywhere."""

    def __init__(self, job: Job, chance: random.Random, leave: Collection[str]) -> None:
        self.job, self.chance, self.leave = job, chance, leave
        self.word = job.where.word
        self._model = chance.choice(MODEL[job.model]) if job.model else ""
        self._how = chance.choice(PARADIGM[job.paradigm]) if job.paradigm else ""

    def left(self, slot: str) -> bool:
        if slot == "place":
            return self.word in self.leave
        return slot in self.leave or not self.job.file_systems

    def site(self) -> str:
        return "" if "site" in self.leave else self.job.where.calls[0]

    def at(self) -> str:
        return "" if "site" in self.leave else f" on {self.chance.choice(self.job.where.calls)}"

    def task(self) -> str:
        if not self.job.model:
            return self.chance.choice(("train my model", "run a training", "start our training run", "train a network"))
        return f"{self.chance.choice(('fine-tune', 'train', 'finetune'))} {self._model}"

    def model(self) -> str:
        return self._model

    def how(self, before: str, short: bool = False) -> str:
        return before + self._how if self._how else ""

    def nodes(self, form: str) -> str:
        count = f"{self.job.nodes} node" + ("s" if self.job.nodes > 1 else "")
        total = f"{count} ({self.job.ranks} GPUs in total)" if self._plain_gpus() else count
        return "" if "nodes" in self.leave else form.format(self.chance.choice((count, count, total)))

    def _plain_gpus(self) -> bool:
        """Aurora's tiles may be counted as GPUs or not: nobody who knows it would say "24 GPUs" and mean tiles."""
        return self.job.where.site != "alcf-aurora" and self.job.nodes > 1

    def paid(self, form: str) -> str:
        return "" if "account" in self.leave else form.format(self.job.account)

    def goes(self, form: str) -> str:
        word = {"qos": "QOS"}.get(self.word, self.word)
        gpu = self.gpu()
        return "" if self.left("place") else form.format(word, self.job.place.name, f" with {gpu}s" if gpu else "")

    def gpu(self) -> str:
        """Return the GPU where the place alone does not say it."""
        same = [one for one in self.job.where.places if one.name == self.job.place.name]
        return self.job.place.said if len(same) > 1 else ""

    def files(self, form: str) -> str:
        return "" if self.left("filesystems") else form.format(self.job.file_systems)


def _time(job: Job, chance: random.Random) -> str:
    hours, minutes = divmod(job.minutes, 60)
    ways = [job.walltime]
    if not minutes:
        ways += [f"{hours} hour" + ("s" if hours > 1 else ""), f"{hours}h"]
    if hours and hours % 24 == 0:
        ways.append(f"{hours // 24} day" + ("s" if hours > 24 else ""))
    if minutes and hours:
        ways += [f"{hours}h{minutes}", f"{hours} hour{'s' if hours > 1 else ''} {minutes} minutes"]
    if job.minutes <= 150:
        ways.append(f"{job.minutes} minutes")
    if job.minutes == 30:
        ways.append("half an hour")
    return chance.choice(ways)


def _clock(job: Job, chance: random.Random) -> str:
    hours, minutes = divmod(job.minutes, 60)
    short = f"{hours}h" if not minutes else f"{job.minutes}min"
    return chance.choice((short, f"time {job.walltime}", f"-t {job.walltime}"))
