#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
#SBATCH --output=logs/%j.out
module purge
module load cuda/12.4 python/3.11
source /home/u/venv/bin/activate
pip install -r req.txt
# --container-image=not.this
srun apptainer exec --nv /images/torch.sif python train.py
