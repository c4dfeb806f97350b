#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=1 --gres=gpu:2
HOST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun python -m torch.distributed.run --nnodes=2 --nproc_per_node=2 --rdzv_id=7 --rdzv_backend=c10d --rdzv_endpoint=$HOST:29507 -m mypkg.train --epochs 1
