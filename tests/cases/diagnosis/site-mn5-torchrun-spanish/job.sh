#!/bin/bash
#SBATCH --account=bsc70
#SBATCH --qos=acc_debug
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:4
#SBATCH --output=out_%j.txt
module load mkl impi CUDA/12.2
nvidia-smi -L
echo "Nodos: $SLURM_JOB_NODELIST"
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29400 train.py'
rc=$?
echo "Fin: $(date)"
exit $rc
