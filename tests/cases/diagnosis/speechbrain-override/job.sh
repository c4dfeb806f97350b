#!/bin/bash
#SBATCH --gres=gpu:2
python -m torch.distributed.launch --nproc_per_node=2 train.py hparams/train.yaml --distributed_launch
