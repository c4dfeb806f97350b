import argparse

import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

p = argparse.ArgumentParser()
p.add_argument('--evaluate', action='store_true')
p.add_argument('--epochs', default=3)
args = p.parse_args()
if args.ddp:
    model = DDP(None)
val = DataLoader(None, batch_size=1)
train = DataLoader(None, batch_size=args.size)
if not args.evaluate:
    opt = torch.optim.AdamW([], lr=3.0)
    loss.backward()
