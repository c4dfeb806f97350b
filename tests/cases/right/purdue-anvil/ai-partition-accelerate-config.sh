#!/bin/bash
#SBATCH -A cis220051-ai
#SBATCH -p ai
#SBATCH --nodes=1
#SBATCH --gpus-per-node=4
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=24
#SBATCH --time=04:00:00

cat > accelerate.$SLURM_JOB_ID.yaml <<'YAML'
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
num_machines: 1
num_processes: 4
machine_rank: 0
mixed_precision: bf16
use_cpu: false
YAML

accelerate launch --config_file accelerate.$SLURM_JOB_ID.yaml train.py
