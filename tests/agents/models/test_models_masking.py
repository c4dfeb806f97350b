"""Secrets are masked before text leaves the process, and nothing else is."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_agents.base.secrets.masking import MASK, masked

from tests.agents.models.canaries import NAMED, Canary, canaries

ORDINARY = """
module load PyTorch/2.1.2-foss-2023a-CUDA-12.1.1 python/3.10 cray-mpich/8.1.28
git checkout 0123456789abcdef0123456789abcdef01234567
sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8
sha512-Q2bFTOhEALkN8hOms2FKTDLy7eugP2zFZ1T8LCvX42Fp3WoNr3bjZSAHeOsHrbV1Fu9/A0EzCinRE7Af1ofPrw==
srun --nodes=4 --ntasks-per-node=4 --account=abc123 -A m1234_g --partition gpuA100x4 python train.py --lr 1e-4
meta-llama/Llama-3.1-8B-Instruct mistralai/Mixtral-8x7B-Instruct-v0.1 max_tokens=2048 --max-new-tokens 512
tokens per second: 1234.5, tokens=12, total_tokens: 33, num_tokens = 512, pad_token="<pad>", eos_token: </s>
tokenizer=gpt2 tokenizer_path: /models/gpt2 --pad-token "<pad>" --mask_token [MASK] token_type_ids=1
export HF_TOKEN=$HF_TOKEN WANDB_API_KEY=${WANDB_API_KEY:-} password=$(cat ~/.pw) use_auth_token=True token=None
token = os.environ["HF_TOKEN"]; password = getpass.getpass(); token=args.hf_token; api_key=cfg.api_key
GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json SSH_KEY=~/.ssh/id_rsa PWD=/scratch/me OLDPWD=/home/me
SyntaxError: unexpected token: foo; invalid token '<' at line 3; the password is required; the token is invalid
cat: /etc/passwd: Permission denied; ls ~/.ssh/password: No such file; names = ["PASSWORD", "USER", "SECRET", "HOME"]
["pg_dump", "--no-password", "--file=x"] PASS = 4 tests {"PWD": link, "HOME": home}
key=value sort_key=name primary key: id, "keys": 5, KeyError: 'model.layers.0.self_attn.q_proj.weight'
_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferE
ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*) sm90_xmma_gemm_bf16bf16_bf16f32
Cijk_Alik_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_APM1_ABV0_ACED0_AF0EM1_AF1EM1_AMAS0_ASAE01
https://github.com/org/repo.git git@github.com:org/repo.git http://proxy.example.org:3128/a@b ssh://git@host/x
docker://nvcr.io/nvidia/pytorch:24.01-py3 /scratch/project_462000001/me/run-2024-01-05T10:11:12/checkpoint-1000
[rank0]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/ProcessGroupNCCL.cpp:1691, NCCL 2.19.3
nid001234:12345:12399 [0] NCCL INFO comm 0x55d0c0a0 rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 3000 commId 0x9f2e
GPU-8a5b2b1e-1c0e-4f3a-9d2e-0a1b2c3d4e5f MIG-8a5b2b1e-1c0e-4f3a-9d2e-0a1b2c3d4e5f 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0
fine-tune llama on 4 nodes with ZeRO-3, 12 hours, account abc123, basic settings of BertForSequenceClassification
my-long-run-name-2024-01-05-Llama-3-8B-zero3-lr1e-4-bs32 gpt2-XL-A100x8-BF16-ZeRO3-LR1e4-WD0-B32-S1024-E3-run17
sk-learn-contrib-something-long disk-usage risk-free task-key: 4 monkey=3 turkey: 5 keyboard bypass=1 compass=north
AuthType=auth/munge slurm_auth_sack: authorization granted; bearer of news; cookie cutter; secretary general
"""


@pytest.mark.parametrize("canary", list(canaries(200)), ids=lambda one: one.text[:30].encode("unicode_escape").decode())
def test_no_canary_survives(canary: Canary):
    shown = masked(canary.text)
    assert not [piece for piece in canary.pieces if piece in shown], shown
    assert MASK in shown


def test_the_canaries_are_as_many_as_they_say_and_stand_in_every_place():
    every = list(canaries(200))
    assert len({one.text for one in every}) == 200
    shapes = {re.sub(r"[A-Za-z0-9!#%*]{6,}", "", form) for form in NAMED}
    assert len(shapes) > 25 and len(NAMED) * 2 <= 200


@pytest.mark.parametrize("seed", range(5))
def test_no_canary_survives_in_the_midst_of_a_long_text(seed):
    chance = random.Random(seed)
    hidden = list(canaries(60, seed + 100))
    lines = ORDINARY.strip().splitlines()
    text = "\n".join(part for one in hidden if "PRIVATE" not in one.text for part in (chance.choice(lines), one.text))
    shown = masked(text)
    assert not [piece for one in hidden for piece in one.pieces if piece in shown]


@pytest.mark.parametrize("line", ORDINARY.strip().splitlines(), ids=lambda line: line[:30])
def test_ordinary_text_stays_as_it_is(line):
    assert masked(line) == line


@given(st.text(alphabet="ab1A= :\"'\\/@-_.\n[]{}$<>|token password=hf_ghp", max_size=80))
def test_masking_twice_changes_nothing_more(text):
    once = masked(text)
    assert masked(once) == once


@pytest.mark.parametrize("canary", list(canaries(200)), ids=lambda one: one.text[:30].encode("unicode_escape").decode())
def test_masking_a_canary_twice_changes_nothing_more(canary: Canary):
    assert masked(masked(canary.text)) == masked(canary.text)


@given(st.text(max_size=200))
def test_text_of_any_kind_is_taken(text):
    assert isinstance(masked(text), str)


def test_what_stands_around_a_secret_stays():
    """Evidence is quoted from masked text: names, quotes and neighbours have to be there."""
    shown = masked('export HF_TOKEN="s3cr3t"; srun --export=ALL,API_KEY=abc1,N=2 python t.py --token x9y8z7 --lr 1')
    assert shown == (
        'export HF_TOKEN="[masked]"; srun --export=ALL,API_KEY=[masked],N=2 python t.py --token [masked] --lr 1'
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "ab-",
        "x-",
        "token ",
        "token=",
        '"',
        '\\"',
        "password ",
        "eyJ",
        "eyJ-",
        "://a:",
        "--a ",
        "curl ",
        "[",
        "'a':",
    ]
    + ["-----BEGIN PRIVATE KEY-----", "login x password ", "set -a ", "<aaa>", "hf_", "sk-", "aB1", "\n", "= ", "a.b-"]
    + ["Bearer ", "SG.", "nvapi-a", "A=1,", "mysql ", "docker login ", "authorization", "x-a-key", "glpat-"],
)
def test_half_a_megabyte_of_anything_takes_no_longer_than_its_length(piece):
    """Time that grew with the square of the length would not end before the test's own limit."""
    masked(piece * (500_000 // len(piece)))


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("wrong password ab1c2 for user x", True),
        ("wrong password ab1c for user x", False),
        ("invalid token ab1c2d3e given", True),
        ("invalid token ab1c2d3 given", False),  # "token is 128k" is a count
    ],
)
def test_how_long_a_word_in_a_sentence_must_be_to_be_a_secret(line: str, secret: bool) -> None:
    """Five letters and digits behind a password's name, eight behind another's."""
    assert (MASK in masked(line)) == secret
