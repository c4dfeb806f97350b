"""Train.

learning_rate = 9e-9
"""
import torch  # torch_seed = 66

# seed = 77
LR_OF_MODEL = 3e-4
bsz_per_rank = 16
eval_bsz = 4
note = "epochs = 12"
n_ep = 30  # n_ep = 99
warmup_steps = 500
print("steps = 4000", torch)
max_updates = 120000
"seed = 5"
net = "vit-b16"
run_seed: int = 1234
accum = 100000000
teacher_lr = 0.01
