#!/bin/bash
#SBATCH -A abc123
#SBATCH -t 01:00:00
#SBATCH -N 1
#SBATCH -p batch

export MASTER_ADDR=$(hostname -s)
export MASTER_PORT=3442
cat > rank.$SLURM_JOB_ID.sh <<'W'
#!/bin/bash
export RANK=$SLURM_PROCID
export WORLD_SIZE=$SLURM_NTASKS
export LOCAL_RANK=$SLURM_LOCALID
"$@"
W
chmod +x rank.$SLURM_JOB_ID.sh
srun -N 1 -n 8 -c 7 --gpus-per-node=8 --ntasks-per-node=8 ./rank.$SLURM_JOB_ID.sh python train.py --amp
