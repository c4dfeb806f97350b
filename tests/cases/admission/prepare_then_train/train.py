import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("-b", "--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=90)
parser.add_argument("--seed", type=int)
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
