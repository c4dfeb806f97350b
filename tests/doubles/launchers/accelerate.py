"""Stand-in for `accelerate launch` (accelerate 1.x): which launcher it becomes, and with what."""

import argparse
import os
import socket

import torchrun
import world

FLAGS = [
    "quiet",
    "cpu",
    "multi_gpu",
    "tpu",
    "enable_cpu_affinity",
    "use_deepspeed",
    "use_fsdp",
    "use_parallelism_config",
    "use_megatron_lm",
    "same_network",
    "module",
    "no_python",
    "debug",
    "dynamo_use_fullgraph",
    "dynamo_use_dynamic",
    "tpu_cluster",
    "use_xpu",
]
VALUES = [
    "config_file",
    "mixed_precision",
    "num_processes",
    "num_machines",
    "num_cpu_threads_per_process",
    "dynamo_backend",
    "dynamo_mode",
    "gpu_ids",
    "machine_rank",
    "main_process_ip",
    "main_process_port",
    "tee",
    "log_dir",
    "role",
    "rdzv_backend",
    "rdzv_conf",
    "max_restarts",
    "monitor_interval",
    "main_training_function",
    "deepspeed_config_file",
    "zero_stage",
    "offload_optimizer_device",
    "offload_param_device",
    "gradient_accumulation_steps",
    "gradient_clipping",
    "zero3_init_flag",
    "zero3_save_16bit_model",
    "deepspeed_hostfile",
    "deepspeed_exclusion_filter",
    "deepspeed_inclusion_filter",
    "deepspeed_multinode_launcher",
    "fsdp_version",
    "fsdp_offload_params",
    "fsdp_min_num_params",
    "fsdp_sharding_strategy",
    "fsdp_reshard_after_forward",
    "fsdp_auto_wrap_policy",
    "fsdp_transformer_layer_cls_to_wrap",
    "fsdp_backward_prefetch",
    "fsdp_state_dict_type",
    "fsdp_forward_prefetch",
    "fsdp_use_orig_params",
    "fsdp_cpu_ram_efficient_loading",
    "fsdp_sync_module_states",
    "fsdp_activation_checkpointing",
    "megatron_lm_tp_degree",
    "megatron_lm_pp_degree",
    "env",
    "vm",
]
NUMBERS = ["num_processes", "num_machines", "machine_rank", "main_process_port"]


def main(name, argv):
    if not argv or argv[0] != "launch":
        print("accelerate: this stand-in launches, and nothing else")
        return 0
    made = argparse.ArgumentParser(prog="accelerate launch", allow_abbrev=False)
    for option in FLAGS:
        made.add_argument(*sorted({"--" + option, "--" + option.replace("_", "-")}), action="store_true")
    for option in VALUES:
        made.add_argument(
            *sorted({"--" + option, "--" + option.replace("_", "-")}), type=int if option in NUMBERS else str
        )
    made.add_argument("program")
    made.add_argument("arguments", nargs=argparse.REMAINDER)
    try:
        return launch(made.parse_args(argv[1:]))
    except (ValueError, TypeError, ConnectionError) as error:
        world.say("%s: %s" % (type(error).__name__, error))
        return 1


def launch(args):
    if sum([args.multi_gpu, args.cpu, args.tpu, args.use_deepspeed, args.use_fsdp]) > 1:
        raise ValueError(
            "You can only use one of `--cpu`, `--multi_gpu`, `--tpu`, `--use_deepspeed`, `--use_fsdp` at a time."
        )
    if args.multi_gpu and args.num_processes is not None and args.num_processes < 2:
        raise ValueError("You need to use at least 2 processes to use `--multi_gpu`.")
    config = args.config_file or default_config()
    if config:
        configure(args, read(config))
    else:
        guess(args)
    args.num_machines = args.num_machines or 1
    os.environ["MAPLE_CHAIN"] = world.chained("accelerate")
    if not args.cpu and (args.use_deepspeed or args.use_fsdp or args.use_megatron_lm or args.multi_gpu):
        return several(args)
    return single(args)


def default_config():
    home = os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface")
    path = os.path.join(home, "accelerate", "default_config.yaml")
    return path if os.path.isfile(path) else ""


def read(path):
    """Return the flat `key: value` lines of an Accelerate config."""
    found = {}
    with open(path) as file:
        for line in file:
            key, colon, value = line.partition(":")
            if colon and not line.startswith((" ", "#")):
                found[key.strip()] = value.split(" #")[0].strip().strip("'\"")
    return found


def configure(args, config):
    """Fill in from a config what the command line does not say."""
    kind = config.get("distributed_type", "NO")
    if not (args.multi_gpu or args.tpu or args.use_deepspeed or args.use_fsdp or args.use_megatron_lm):
        args.use_deepspeed, args.use_fsdp = kind == "DEEPSPEED", kind == "FSDP"
        args.multi_gpu, args.use_megatron_lm = kind.startswith("MULTI_"), kind == "MEGATRON_LM"
    for key, value in config.items():
        if getattr(args, key, 0) is None and value not in ("", "null"):
            setattr(args, key, int(value) if key in NUMBERS else value)
    if args.num_processes == -1:
        raise ValueError("You need to manually pass in `--num_processes` using this config yaml.")


def guess(args):
    gpus = len(world.visible_gpus())
    if args.num_processes is None:
        args.num_processes = gpus
    if args.num_processes > 1 and gpus > 1:
        args.multi_gpu = args.multi_gpu or not args.use_deepspeed


def several(args):
    """Become torchrun, as the multi-GPU launcher does."""
    port = 29500 if args.main_process_port is None else args.main_process_port or free_port()
    rank = 0
    words = ["--rdzv_backend", args.rdzv_backend or "static"]
    if args.num_machines > 1:
        rank = int(args.machine_rank)  # None is a TypeError here, as in the real one
        words += ["--nnodes", str(args.num_machines), "--node_rank", str(rank)]
        words += ["--nproc_per_node", str(args.num_processes // args.num_machines)]
        if args.same_network:
            words += ["--master_addr", str(args.main_process_ip), "--master_port", str(port)]
        else:
            words += ["--rdzv_endpoint", "%s:%s" % (args.main_process_ip, port)]
    else:
        words += ["--nproc_per_node", str(args.num_processes), "--master_port", str(port)]
    if (args.num_machines <= 1 or rank == 0) and in_use(port):
        if args.num_machines > 1:
            raise ConnectionError(
                "Tried to launch distributed communication on port `%d`, but another process is utilizing it." % port
            )
        words.append("--standalone")
    if args.gpu_ids and args.gpu_ids != "all":
        os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu_ids
    os.environ.setdefault("OMP_NUM_THREADS", str(args.num_cpu_threads_per_process or 1))
    words += ["--module"] if args.module else []
    words += ["--no_python"] if args.no_python else []
    return torchrun.main("accelerate", [*words, args.program, *args.arguments])


def single(args):
    """Start one process, whatever --num_processes says."""
    words = [args.program, *args.arguments]
    if not args.no_python:
        words = [world.python(), *(["-m"] if args.module else []), *words]
    env = dict(os.environ, ACCELERATE_USE_CPU=str(bool(args.cpu)))
    if args.cpu:
        env["MAPLE_DEVICE"] = "cpu"
    if args.num_machines > 1 and (args.main_process_ip is None or args.main_process_port is None):
        raise ValueError("When using multiple machines, you need to specify the main process IP and port.")
    if args.num_machines > 1 or (args.num_processes or 0) > 1:
        env.update(MASTER_ADDR=args.main_process_ip or "127.0.0.1", MASTER_PORT=str(args.main_process_port or 29500))
    if args.gpu_ids and args.gpu_ids != "all":
        env["CUDA_VISIBLE_DEVICES"] = args.gpu_ids
    return world.attend([world.start(words, env)], "accelerate")


def in_use(port):
    with socket.socket() as probe:
        return probe.connect_ex(("localhost", port)) == 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]
