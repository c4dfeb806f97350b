#!/bin/bash -l
#SBATCH -A m1234_g -C gpu -q regular   # three in one
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4
#SBATCH --time=02:00:00
#SBATCH --dependency=afterok:12345
#SBATCH --signal=B:USR1@120
#SBATCH --output=logs/%x-%j.out
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=me@example.org
#SBATCH --requeue
#SBATCH --reservation=friday
module load pytorch cudatoolkit && module list
export NCCL_SOCKET_IFNAME=hsn0 OMP_NUM_THREADS=8
export SCRATCHDIR=/pscratch/sd/m/me
trap 'echo caught' USR1
cat > ds.json <<'J'
{"zero_optimization": {"stage": 3}}
J
MASTER_ADDR=$(hostname)
export MASTER_ADDR MASTER_PORT=29500
for seed in 1 2; do
	srun -u --cpu-bind=cores bash -c "export RANK=\$SLURM_PROCID LOCAL_RANK=\$SLURM_LOCALID WORLD_SIZE=\$SLURM_NTASKS; cd $PWD && python train.py --seed $seed --job $SLURM_JOB_ID --rank \$SLURM_PROCID --name 'a b'" > out.$seed 2>&1
done
srun -N1 -n1 --gpus=1 python eval.py --nodes $SLURM_NNODES
squeue -j $SLURM_JOB_ID
