#!/bin/bash
#SBATCH -J train
#SBATCH -p gpu-a100
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH -t 06:00:00
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export NNODES=$SLURM_NNODES
cat > node.sh <<'EOF'
accelerate launch --multi_gpu --num_machines $NNODES --num_processes 6 --machine_rank $PMI_RANK --main_process_ip $HEAD --main_process_port 29500 train.py --name it\'s-mine --out runs/a\ b
EOF
bash node.sh
