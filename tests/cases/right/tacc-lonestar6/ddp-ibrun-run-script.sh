#!/bin/bash
#SBATCH -J ddp-a100
#SBATCH -p gpu-a100
#SBATCH -N 2
#SBATCH -n 2
#SBATCH -t 04:00:00
#SBATCH -o ddp.%j.out

# One ibrun task per node; torchrun starts the three ranks of each node.
module load python3
NODES=$SLURM_NNODES
HOST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

cat > run.$SLURM_JOB_ID.sh <<'RUN'
#!/bin/bash
HOST=$1
NODES=$2
torchrun --nproc_per_node=3 --nnodes=$NODES --node_rank=$PMI_RANK --master_addr=$HOST train.py
RUN
chmod +x run.$SLURM_JOB_ID.sh

ibrun -np 2 ./run.$SLURM_JOB_ID.sh $HOST $NODES
