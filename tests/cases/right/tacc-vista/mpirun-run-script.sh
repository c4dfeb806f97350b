#!/bin/bash
#SBATCH -J ddp-gh
#SBATCH -p gh
#SBATCH -N 2
#SBATCH -n 2
#SBATCH -t 01:00:00

HOST=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)

cat > run-$SLURM_JOB_ID.sh <<'EOS'
#!/bin/bash
LOCAL_RANK=$OMPI_COMM_WORLD_RANK
HOST=$1
NODES=$2
torchrun --nproc_per_node=1 --nnodes=$NODES --node_rank=${LOCAL_RANK} --master_addr=$HOST train.py
EOS
chmod u+x run-$SLURM_JOB_ID.sh

mpirun -np 2 --map-by ppr:1:node ./run-$SLURM_JOB_ID.sh $HOST 2
