"""The stable names of causes and of kinds of fixes: programs may rely on them."""

from __future__ import annotations

CLASSES = (
    "port_in_use", "rendezvous_timeout_master_unreachable", "early_expanded_rank_variable", "wrong_world_size_or_rank",
    "hostname_resolution", "wrong_network_interface", "nccl_init_or_transport",
    "nccl_timeout_due_to_straggler_or_crash_elsewhere", "gpu_oom", "host_oom", "shm_too_small", "memlock_limit",
    "disk_quota_or_full", "permission_denied", "ccl_fabric_provider", "cuda_driver_mismatch", "cuda_arch_unsupported",
    "missing_python_module", "wrong_interpreter_or_env", "missing_shared_library", "glibc_mismatch",
    "package_version_conflict", "compiler_or_cuda_home_missing", "module_not_found", "launcher_not_found",
    "launcher_bad_option", "file_not_found", "data_or_config_error", "code_error", "shared_filesystem_race",
    "hub_offline_or_gated", "time_limit", "preempted_or_requeued", "terminal_hangup", "node_failure_hardware",
    "srun_step_request", "srun_cpu_binding", "invalid_partition_account_qos", "mpi_pmi_mismatch",
    "mpi_not_enough_slots", "backend_unsupported_on_hardware", "deepspeed_hostfile_or_ssh", "accelerate_config",
    "container_error", "dos_line_endings", "cancelled_by_user", "resource_limit", "none", "unknown",
)  # fmt: skip
# none: the job succeeded; unknown: the logs do not show the cause; cancelled_by_user: somebody ended it;
# resource_limit: too many open files, processes or threads.

FIX_KINDS = (
    "script_env", "script_launch_line", "script_directive", "user_code", "environment_install", "admin_or_hardware",
    "resubmit", "unknown",
)  # fmt: skip
