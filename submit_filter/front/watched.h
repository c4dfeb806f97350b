/* Variables of the caller that travel in the request; types/submission.py says what for. Written by
 * packaging/docs/headers.py (make docs). Of PBS each by its name: PBS_JOBCOOKIE is a secret. */
static const char *const WATCHED_PREFIXES[] = {
    "SBATCH_", "SLURM_", "SRUN_", "MAPLE", "MASTER_", "PET_", "NCCL_", "RCCL_", "CCL_", "GLOO_", "ACCELERATE_", "FSDP_",
    "DS_", "OMP_", "PMI_", "PMIX_", "OMPI_", "I_MPI_", "HYDRA_", "MPICH_", "PALS_", "IBRUN_", "TACC_", "TORCH_NCCL_",
    "PBS_O_", "PBS_ARRAY_", "MPIEXEC_",
};
static const char *const WATCHED_NAMES[] = {
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "RANK", "WORLD_SIZE",
    "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "NNODES", "GPUS_PER_NODE", "NGPUS", "LAUNCHER", "HOME",
    "USER", "LOGNAME", "PWD", "SHELL", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "NERSC_HOST",
    "LMOD_SYSTEM_NAME", "HOSTNAME", "CLUSTER", "VIRTUAL_ENV", "ZE_FLAT_DEVICE_HIERARCHY", "NPROC_PER_NODE", "TMPDIR",
    "CONDA_PREFIX", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PBS_CONF_FILE", "PBS_SERVER", "PBS_DEFAULT",
    "PBS_BATCH_SERVICE_PORT", "PBS_DPREFIX", "PBS_SHELL", "PBS_TMPDIR", "PBS_EXEC", "PBS_HOME", "PBS_ENVIRONMENT",
    "PBS_JOBID", "PBS_JOBNAME", "PBS_JOBDIR", "PBS_NODEFILE", "PBS_NODENUM", "PBS_TASKNUM", "PBS_QUEUE", "PBS_ACCOUNT",
    "PBS_NP", "PBS_NUM_NODES", "PBS_NUM_PPN", "PBS_GPUFILE", "NCPUS", "SBATCH_WCKEY", "SLURM_WCKEY", "NCCL_IB_PKEY",
};
/* A variable that the script names travels as well. None does for its beginning or the script whose own name says that
 * it is a secret, as SLURM_JWT. */
static const char *const SECRET_WORDS[] = {
    "KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH", "COOKIE", "JWT", "BEARER", "PRIVATE",
};
enum { MOST_SEARCHED = 262144 };
