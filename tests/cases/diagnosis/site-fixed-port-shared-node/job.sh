#!/bin/bash
#SBATCH --array=0-7
#SBATCH --gres=gpu:2 --cpus-per-task=8 --mem=60G
#SBATCH --output=abl_%a.out
#SBATCH --time=04:00:00
source ~/env/bin/activate
python -m torch.distributed.run --nproc_per_node=2 train.py --config conf/abl_$SLURM_ARRAY_TASK_ID.yaml
