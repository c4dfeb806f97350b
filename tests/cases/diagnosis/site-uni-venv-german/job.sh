#!/bin/bash
#SBATCH --partition=gpu_h100
#SBATCH --nodes=1
#SBATCH --ntasks=2
#SBATCH --gres=gpu:2
#SBATCH --time=04:00:00
export LANG=de_DE.UTF-8
module purge
module load devel/python/3.11.7-gnu-14.2
export OMP_NUM_THREADS=12
export NCCL_DEBUG=WARN
# Workspace
WS=$(ws_find llm)
source /pfs/work9/workspace/scratch/fr_ab1234-llm/venv/bin/activate
python --version
srun python /home/fr/fr_fr/fr_ab1234/llm/train.py
