torchrun --nnodes=$SLURM_NNODES --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr=$HEAD --master_port=29500 train.py
