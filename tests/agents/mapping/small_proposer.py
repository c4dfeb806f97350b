"""A small language model for the proposer, trained here by made-up dialogues; no larger one can be had where this runs.

`python -m tests.agents.mapping.small_proposer dialogues FILE` makes them (jobs that no table has, feedback by the code
that gives it); `python tests/agents/mapping/small_proposer.py train FILE FOLDER`, in an environment with torch and
transformers, trains a Llama of three layers and saves it as any other model.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

SEED, DIALOGUES, STEPS, BATCH, LONGEST = 23, 700, 400, 4, 560
CHAT = (
    "{% for turn in messages %}<|{{ turn.role }}|>{{ turn.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ROLES = ("<|system|>", "<|user|>", "<|assistant|>")
_AXES = ("tp", "dp", "pp")
_HEAVY = {
    "tp": "traffic tp allreduce {0}MiB x32",
    "dp": "traffic dp allreduce {0}GB",
    "pp": "traffic pp p2p {0}MiB x16",
}


def dialogue(chance: random.Random) -> list[dict[str, str]]:
    """Return a made-up job, up to four proposals of any worth with what is said of them, and a good one."""
    from maple_agents.mapping import proposals

    job, good, others = _lab(chance) if chance.random() < 0.4 else _estimated(chance)
    level = chance.choice(proposals.LEVELS)
    turns = [proposals.heard(job, chance.choice(others), level) for _ in range(chance.choice((0, 0, 1, 2, 3, 4)))]
    told = proposals.messages(job, turns)
    tried = {turn.mapping for turn in turns}
    if turns and turns[-1].kind == "execution" and "host" in turns[-1].heard:
        good = [one.partition(" ; nodes")[0] for one in good]  # what it cannot list, it leaves as it is
    best = next((one for one in good if one not in tried), good[0])
    answer = json.dumps({"why": "", "mapping": best}, separators=(",", ":"))
    return [{"role": message.role, "content": message.text} for message in told] + [
        {"role": "assistant", "content": answer}
    ]


def _estimated(chance: random.Random) -> tuple[Any, list[str], list[str]]:
    """Return a job, and mappings of it: good ones, best first, and any."""
    from maple_agents.mapping import proposals

    nodes, each = chance.choice((4, 6, 10, 16)), chance.choice((2, 4))
    sizes = {"tp": each, "dp": nodes // 2, "pp": 2} if chance.random() < 0.7 else {"tp": each, "dp": nodes}
    heavy = {axis: chance.choice((1, 4, 16, 64)) for axis in sizes}
    traffic = [_HEAVY[axis].format(heavy[axis]) for axis in sizes]
    hosts = [f"h{at}" for at in chance.sample(range(nodes), nodes)]
    leaves = [chance.choice("abc"[: chance.choice((2, 3))]) for _ in hosts]
    axes = ", ".join(f"{axis} {size}" for axis, size in sizes.items())
    job = proposals.of_estimate(
        "\n".join((f"cluster node {nodes} / gpu {each}", f"axes {axes}", *traffic)), hosts, leaves
    )
    by_leaf = dict(zip(hosts, leaves))
    sorted_ = sorted(hosts, key=lambda host: by_leaf[host])
    orders = sorted(([*sizes], [*sizes][::-1], ["dp", "tp", *(["pp"] if "pp" in sizes else [])]),
                    key=lambda order: order[0] != ("dp" if heavy["dp"] >= 4 else "tp"))  # fmt: skip
    said = [" < ".join(order) for order in orders]
    good = [f"order {one} ; map block ; nodes list {','.join(sorted_)}" for one in said]
    any_ = chance.sample(hosts, nodes)
    twice = [*any_[:-2], any_[0], any_[0]]
    torn = [f"order {one} ; map block ; nodes list {','.join(chance.sample(twice, nodes))}" for one in said]
    bad = [
        *torn,
        *torn,
        f"ordre {said[0]}",
        "map plane 3",
        f"nodes list {','.join(any_[1:])}",
        "map blok",
        f"order {said[0]}, map block",
    ]
    return job, good, [*bad, *(f"order {one} ; map {chance.choice(('block', 'cyclic'))} ; nodes list {','.join(any_)}"
                               for one in said), *good]  # fmt: skip


def _lab(chance: random.Random) -> tuple[Any, list[str], list[str]]:
    """Return a job whose grid is free; its times are made up, and no program's."""
    from maple_agents.mapping.language import Mapping, Mistake
    from maple_agents.mapping.proposals import Job, Judgement

    from tests.agents.mapping.proposers import _FREE

    nodes = chance.choice((4, 8))
    slow = chance.randrange(nodes)
    hosts = chance.sample([f"h{at}" for at in range(nodes)], nodes)
    name = chance.choice(("stencil", "johnson", "summa", "cannon"))
    fixed = (
        f"cluster node {nodes} / gpu 2\n# {name}; hosts: {', '.join(hosts)}; the network of h{slow} has half the rate"
    )

    def judge(mapping: Mapping) -> Judgement:
        if mapping.mesh is None or sorted(mapping.hosts or hosts) != sorted(hosts):
            raise Mistake("such a grid or map is not in the space; write: axes dp 2, tp 4 ; map block")
        return Judgement(chance.uniform(0.1, 0.9), "2 of 4 rows of the grid cross nodes.", "Try an evener grid.")

    last = ",".join(sorted(hosts, key=lambda host: (host == f"h{slow}", int(host[1:]))))
    ranks = 2 * nodes
    layers = ["pp 2, dp 2, tp 2" if nodes == 4 else "pp 2, dp 2, tp 4"] if name == "johnson" else []
    grids = [*layers, *(f"dp {rows}, tp {ranks // rows}" for rows in ((2, 4, 1) if nodes == 4 else (4, 2, 8)))]
    grids = layers * 2 if layers and chance.random() < 0.5 else [one for one in grids if not layers or "pp" in one]
    good = [f"axes {grid} ; map {how} ; nodes list {last}" for how in ("block", "cyclic") for grid in grids]
    return (
        Job(fixed, _FREE, judge),
        good,
        [*good, "axes dp 3, tp 3 ; map block", "axis dp 2, tp 4", f"map block ; nodes list {last[3:]}"],
    )


def train(path: str, folder: str) -> None:
    """Train on the answers of the dialogues, and save the model with its tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    talks = [json.loads(line) for line in Path(path).read_text().splitlines()]
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    words.decoder = decoders.ByteLevel()
    control = ["<|begin|>", "<|end|>", *ROLES]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=control,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())  # fmt: skip
    words.train_from_iterator((turn["content"] for talk in talks for turn in talk), trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<|begin|>", eos_token="<|end|>")
    fast.add_special_tokens({"additional_special_tokens": list(ROLES)})
    fast.chat_template = CHAT
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    config = LlamaConfig(
        vocab_size=len(fast), hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=2048,
        bos_token_id=fast.bos_token_id, eos_token_id=fast.eos_token_id,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    rows = [row for talk in talks for row in [_row(fast, talk)] if len(row[0]) <= LONGEST]
    print(len(rows), "dialogues", sum(len(row[0]) for row in rows) // len(rows), "tokens each", flush=True)
    rows.sort(key=lambda row: len(row[0]))
    chance, began = random.Random(SEED), time.monotonic()
    best = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    plan = torch.optim.lr_scheduler.OneCycleLR(best, 2e-3, total_steps=STEPS, pct_start=0.1)
    for step in range(STEPS):
        at = chance.randrange(len(rows) - BATCH)
        part = rows[at : at + BATCH]
        longest = max(len(row[0]) for row in part)
        tokens = torch.tensor([row[0] + [0] * (longest - len(row[0])) for row in part])
        labels = torch.tensor([row[1] + [-100] * (longest - len(row[1])) for row in part])
        loss = model(input_ids=tokens, attention_mask=(tokens != 0).long(), labels=labels).loss
        best.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        best.step()
        plan.step()
        if step % 25 == 0:
            print(step, f"{loss.item():.3f}", f"{time.monotonic() - began:.0f} s", flush=True)
        if step % 200 == 199 or step == STEPS - 1:
            model.save_pretrained(folder)
            fast.save_pretrained(folder)


def _row(fast: Any, talk: list[dict[str, str]]) -> tuple[list[int], list[int]]:
    """Return the tokens of a dialogue, and those that are learnt: the last answer's, a tenth of the weight on none."""
    before = fast.apply_chat_template(talk[:-1], tokenize=False, add_generation_prompt=True)
    asked = fast(before, add_special_tokens=False)["input_ids"]
    answer = [*fast(talk[-1]["content"], add_special_tokens=False)["input_ids"], fast.eos_token_id]
    return asked + answer, [-100] * len(asked) + answer


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(sys.argv[2], sys.argv[3])
    else:
        drawn = random.Random(SEED)
        Path(sys.argv[2]).write_text("".join(json.dumps(dialogue(drawn)) + "\n" for _ in range(DIALOGUES)))
