#!/bin/bash
#SBATCH --gres=gpu:a100:4 -c 32 --mem=200G -t 8:00:00 -o ft.%j.out
set -e
source /project/nlp/env/bin/activate
torchrun --standalone --nproc-per-node=4 run_clm.py --output_dir /local/$SLURM_JOB_ID/out
echo copying results
rsync -av /local/$SLURM_JOB_ID/out /project/nlp/ft/
