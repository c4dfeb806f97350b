#!/bin/bash
#SBATCH -A cis220051-gpu
#SBATCH -p gpu
#SBATCH -N 3
#SBATCH -n 12
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=4
#SBATCH -t 10:00:00

export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29500
export WORLD_SIZE=$SLURM_NTASKS
cat << 'EOF_WRAP' > wrap.$SLURM_JOB_ID.sh
#!/bin/bash
export RANK=$SLURM_PROCID
export LOCAL_RANK=$SLURM_LOCALID
exec "$@"
EOF_WRAP
chmod +x wrap.$SLURM_JOB_ID.sh
srun -n $SLURM_NTASKS --kill-on-bad-exit ./wrap.$SLURM_JOB_ID.sh python train.py
