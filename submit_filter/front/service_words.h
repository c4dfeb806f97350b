/* Words that a repair may bring into a line, besides numbers, single letters and the words of that line itself: launchers,
 * their options, what a batch system sets. No program that does anything else, no path, no name of a user's. What a
 * service writes beyond them the helper decides anew. */
static const char *const SERVICE_WORDS[] = {
    "srun", "torchrun", "accelerate", "launch", "deepspeed", "mpirun", "mpiexec", "ibrun", "python", "python3",
    "torch.distributed.run", "nodes", "ntasks", "ntasks-per-node", "ntasks-per-gpu", "ntasks-per-socket",
    "tasks-per-node", "cpus-per-task", "cpus-per-gpu", "gpus", "gpus-per-node", "gpus-per-task", "gpu", "gres", "mem",
    "mem-per-cpu", "mem-per-gpu", "time", "exclusive", "overlap", "exact", "kill-on-bad-exit", "label", "cpu-bind",
    "gpu-bind", "none", "cores", "closest", "map_gpu", "nnodes", "nproc_per_node", "nproc-per-node", "node_rank",
    "node-rank", "rdzv_backend", "rdzv-backend", "rdzv_endpoint", "rdzv-endpoint", "rdzv_id", "rdzv-id", "c10d", "static",
    "master_addr", "master-addr", "master_port", "master-port", "standalone", "num_processes", "num_machines",
    "machine_rank", "main_process_ip", "main_process_port", "multi_gpu", "num_nodes", "num_gpus", "no_ssh", "hostfile",
    "ppn", "np", "npernode", "map-by", "bind-to", "select", "place", "scatter", "ncpus", "ngpus", "mpiprocs",
    "ompthreads", "walltime", "export", "MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK",
    "OMP_NUM_THREADS", "SRUN_CPUS_PER_TASK", "SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_NTASKS",
    "SLURM_NNODES", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST", "SLURM_NTASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK", "SLURM_GPUS_ON_NODE", "PBS_NODEFILE", "PBS_JOBID", "PMI_RANK", "PMIX_RANK", "scontrol", "show",
    "hostnames", "hostname", "head", "SBATCH", "PBS",
};
