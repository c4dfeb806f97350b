"""`accelerate launch`: one agent a machine; --num_processes is the total over all machines.

Measured, accelerate 1.15.0: 3 processes on 2 machines start one on each and nobody complains. What is not on the line
comes from a configuration file (--config_file, or the user's default), so without it a value is unknown. Its options
are those of 1.15.0: with dashes or underscores, never shortened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Tuple

from ..play.program_owner import PYTHON
from ..play.scene import Agent, Scene, Trail
from ..play.shell_state import Shell
from ..types.launch_plan import Link
from ..types.text import Text, number, plain
from .devices import mask_of
from .grammar import ARGPARSE, Table, followed, link_of, lost_value, read, table
from .python_options import python_program
from .record import AgentOptions, Launcher
from .torchrun import empty_options, on_cpu, visible_devices

if TYPE_CHECKING:
    from ..play.scene import Starter

_DYNAMO = (
    "no|eager|aot_eager|inductor|aot_ts_nvfuser|nvprims_nvfuser|cudagraphs|ofi|fx2trt|onnxrt|tensorrt"
    "|aot_torchxla_trace_once|torhchxla_trace_once|tvm"
)
TABLE: Table = table(
    "accelerate",
    ARGPARSE,
    """
    -h --help 0
    --config_file --config-file 1
    --quiet -q 0
    --cpu 0
    --multi_gpu --multi-gpu 0
    --tpu 0
    --mixed_precision --mixed-precision 1:no|fp16|bf16|fp8
    --num_processes --num-processes 1:int
    --num_machines --num-machines 1:int
    --num_cpu_threads_per_process --num-cpu-threads-per-process 1:int
    --enable_cpu_affinity --enable-cpu-affinity 0
    --dynamo_backend --dynamo-backend 1:DYNAMO
    --dynamo_mode --dynamo-mode 1:default|reduce-overhead|max-autotune
    --dynamo_use_fullgraph --dynamo-use-fullgraph 0
    --dynamo_use_dynamic --dynamo-use-dynamic 0
    --dynamo_use_regional_compilation --dynamo-use-regional-compilation 0
    --use_deepspeed --use-deepspeed 0
    --use_fsdp --use-fsdp 0
    --use_parallelism_config --use-parallelism-config 0
    --use_megatron_lm --use-megatron-lm 0
    --gpu_ids --gpu-ids 1
    --same_network --same-network 0
    --machine_rank --machine-rank 1:int
    --main_process_ip --main-process-ip 1
    --main_process_port --main-process-port 1:int
    -t --tee 1
    --log_dir --log-dir 1
    --role 1
    --rdzv_backend --rdzv-backend 1
    --rdzv_conf --rdzv-conf 1
    --max_restarts --max-restarts 1:int
    --monitor_interval --monitor-interval 1:float
    -m --module 0
    --no_python --no-python 0
    --tpu_cluster --tpu-cluster 0
    --no_tpu_cluster --no-tpu-cluster 0
    --tpu_use_sudo --tpu-use-sudo 0
    --vm 1
    --env 1
    --main_training_function --main-training-function 1
    --downcast_bf16 --downcast-bf16 0
    --deepspeed_config_file --deepspeed-config-file 1
    --zero_stage --zero-stage 1:int
    --offload_optimizer_device --offload-optimizer-device 1
    --offload_param_device --offload-param-device 1
    --offload_optimizer_nvme_path --offload-optimizer-nvme-path 1
    --offload_param_nvme_path --offload-param-nvme-path 1
    --gradient_accumulation_steps --gradient-accumulation-steps 1:int
    --gradient_clipping --gradient-clipping 1:float
    --zero3_init_flag --zero3-init-flag 1
    --zero3_save_16bit_model --zero3-save-16bit-model 1
    --deepspeed_hostfile --deepspeed-hostfile 1
    --deepspeed_exclusion_filter --deepspeed-exclusion-filter 1
    --deepspeed_inclusion_filter --deepspeed-inclusion-filter 1
    --deepspeed_multinode_launcher --deepspeed-multinode-launcher 1
    --deepspeed_moe_layer_cls_names --deepspeed-moe-layer-cls-names 1
    --fsdp_version --fsdp-version 1:1|2
    --fsdp_offload_params --fsdp-offload-params 1
    --fsdp_min_num_params --fsdp-min-num-params 1:int
    --fsdp_sharding_strategy --fsdp-sharding-strategy 1
    --fsdp_reshard_after_forward --fsdp-reshard-after-forward 1
    --fsdp_auto_wrap_policy --fsdp-auto-wrap-policy 1
    --fsdp_transformer_layer_cls_to_wrap --fsdp-transformer-layer-cls-to-wrap 1
    --fsdp_backward_prefetch --fsdp-backward-prefetch 1
    --fsdp_state_dict_type --fsdp-state-dict-type 1
    --fsdp_forward_prefetch --fsdp-forward-prefetch 1
    --fsdp_use_orig_params --fsdp-use-orig-params 1
    --fsdp_cpu_ram_efficient_loading --fsdp-cpu-ram-efficient-loading 1
    --fsdp_sync_module_states --fsdp-sync-module-states 1
    --fsdp_activation_checkpointing --fsdp-activation-checkpointing 1
    --fsdp_activation_checkpointing_offload --fsdp-activation-checkpointing-offload 1
    --megatron_lm_tp_degree --megatron-lm-tp-degree 1:int
    --megatron_lm_use_custom_fsdp --megatron-lm-use-custom-fsdp 1
    --megatron_lm_no_load_optim --megatron-lm-no-load-optim 1
    --megatron_lm_eod_mask_loss --megatron-lm-eod-mask-loss 1
    --megatron_lm_overlap_cpu_optimizer_d2h_h2d --megatron-lm-overlap-cpu-optimizer-d2h-h2d 1
    --megatron_lm_no_save_optim --megatron-lm-no-save-optim 1
    --megatron_lm_optimizer_cpu_offload --megatron-lm-optimizer-cpu-offload 1
    --megatron_lm_use_precision_aware_optimizer --megatron-lm-use-precision-aware-optimizer 1
    --megatron_lm_decoder_last_pipeline_num_layers --megatron-lm-decoder-last-pipeline-num-layers 1:int
    --megatron_lm_pp_degree --megatron-lm-pp-degree 1:int
    --megatron_lm_num_micro_batches --megatron-lm-num-micro-batches 1:int
    --megatron_lm_sequence_parallelism --megatron-lm-sequence-parallelism 1
    --megatron_lm_recompute_activations --megatron-lm-recompute-activations 1
    --megatron_lm_use_distributed_optimizer --megatron-lm-use-distributed-optimizer 1
    --megatron_lm_gradient_clipping --megatron-lm-gradient-clipping 1:float
    --megatron_lm_recompute_granularity --megatron-lm-recompute-granularity 1
    --megatron_lm_recompute_method --megatron-lm-recompute-method 1
    --megatron_lm_recompute_num_layers --megatron-lm-recompute-num-layers 1:int
    --megatron_lm_attention_backend --megatron-lm-attention-backend 1
    --megatron_lm_expert_model_parallel_size --megatron-lm-expert-model-parallel-size 1:int
    --megatron_lm_context_parallel_size --megatron-lm-context-parallel-size 1:int
    --megatron_lm_attention_dropout --megatron-lm-attention-dropout 1:float
    --megatron_lm_hidden_dropout --megatron-lm-hidden-dropout 1:float
    --megatron_lm_attention_softmax_in_fp32 --megatron-lm-attention-softmax-in-fp32 1
    --megatron_lm_expert_tensor_parallel_size --megatron-lm-expert-tensor-parallel-size 1:int
    --megatron_lm_calculate_per_token_loss --megatron-lm-calculate-per-token-loss 1
    --megatron_lm_use_rotary_position_embeddings --megatron-lm-use-rotary-position-embeddings 1
    --fp8_backend --fp8-backend 1:ao|te|msamp
    --fp8_use_autocast_during_eval --fp8-use-autocast-during-eval 0
    --fp8_margin --fp8-margin 1:int
    --fp8_interval --fp8-interval 1:int
    --fp8_format --fp8-format 1:HYBRID|E4M3|E5M2
    --fp8_amax_history_len --fp8-amax-history-len 1:int
    --fp8_amax_compute_algo --fp8-amax-compute-algo 1:max|most_recent
    --fp8_override_linear_precision --fp8-override-linear-precision 1
    --fp8_opt_level --fp8-opt-level 1:O1|O2
    --fp8_enable_fsdp_float8_all_gather --fp8-enable-fsdp-float8-all-gather 1:bool
    --fp8_pad_inner_dim --fp8-pad-inner-dim 1:bool
    --aws_access_key_id --aws-access-key-id 1
    --aws_secret_access_key --aws-secret-access-key 1
    --debug 0
    --mpirun_hostfile --mpirun-hostfile 1
    --parallelism_config_dp_replicate_size --parallelism-config-dp-replicate-size 1:int
    --parallelism_config_dp_shard_size --parallelism-config-dp-shard-size 1:int
    --parallelism_config_tp_size --parallelism-config-tp-size 1:int
    --parallelism_config_cp_size --parallelism-config-cp-size 1:int
    --parallelism_config_cp_backend --parallelism-config-cp-backend 1:torch
    --parallelism_config_cp_comm_strategy --parallelism-config-cp-comm-strategy 1
    --parallelism_config_sp_size --parallelism-config-sp-size 1:int
    --parallelism_config_sp_backend --parallelism-config-sp-backend 1:deepspeed
    --parallelism_config_sp_seq_length --parallelism-config-sp-seq-length 1
    --parallelism_config_sp_seq_length_is_variable --parallelism-config-sp-seq-length-is-variable 1
    --parallelism_config_sp_attn_implementation --parallelism-config-sp-attn-implementation 1
    --fp16 0 only accelerate<0.14
    --use_mps_device --use-mps-device 0 only accelerate<1.0
    --ipex 0 only accelerate<1.9
    --use_xpu --use-xpu 0 only accelerate<1.9
    --mpirun_ccl --mpirun-ccl 1 only accelerate<1.10
    --fsdp_backward_prefetch_policy --fsdp-backward-prefetch-policy 1 only accelerate<1.0
    """.replace("DYNAMO", _DYNAMO),
    abbreviates=False,
)

DEFAULTS: Mapping[str, bytes] = {
    "rdzv-backend": b"static",
    "max-restarts": b"0",
    "dynamo-mode": b"default",
    "fsdp-version": b"1",
    "role": b"default",
}

_KEYS = {
    "num-processes": b"num_processes",
    "num-machines": b"num_machines",
    "machine-rank": b"machine_rank",
    "main-process-ip": b"main_process_ip",
    "main-process-port": b"main_process_port",
    "rdzv-backend": b"rdzv_backend",
}
_LINE = re.compile(rb"^([a-z_]+):[ \t]*([^\n#]*)", re.MULTILINE)


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Record the agent of `accelerate launch`; other subcommands start nothing."""
    if len(argv) < 2 or argv[1].raw != b"launch":
        return
    _record(programs, argv, 2, shell, trail)


def start_direct(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Record the agent of `accelerate-launch` and `python -m accelerate.commands.launch`."""
    call = python_program(argv)
    _record(programs, argv, call.arguments if call is not None else 1, shell, trail)


def _record(programs: Starter, argv: List[Text], words: int, shell: Shell, trail: Trail) -> None:
    reading = read(TABLE, argv, words)
    link = link_of("accelerate", argv, reading, words)
    trail = followed(trail, link, reading)
    program = argv[reading.program :]
    config = _config(programs, link, shell)
    if config is None:
        trail = trail._replace(doubts=trail.doubts + ("accelerate's configuration file could not be read",))
    agent = _agent(link, shell, programs.scene, config, program)
    agent = agent._replace(empty=agent.empty + lost_value(reading, trail))
    programs.agent(agent, program, shell, trail)


def _config(programs: Starter, link: Link, shell: Shell) -> Optional[Dict[bytes, bytes]]:
    """Return the configuration file's plain keys; {} when there is none, None when it is there and unread."""
    named = link.option("config-file")
    path = named.value if named is not None else None
    if path is None:
        home = shell.value(b"HOME")
        if home is None or not home.literal:
            return {}
        path = plain(home.raw + b"/.cache/huggingface/accelerate/default_config.yaml")
    content = programs.scene.content(path, shell.cwd)
    if content is None:
        return None if named is not None else {}
    return {key: value.strip().strip(b"'\"") for key, value in _LINE.findall(content.raw)}


def _value(link: Link, config: Optional[Dict[bytes, bytes]], name: str, default: Optional[bytes]) -> Optional[Text]:
    option = link.option(name)
    if option is not None:
        return option.value
    if link.open or config is None:
        return None
    raw = config.get(_KEYS[name])
    if raw in (b"null", b"None", b"~", b""):
        raw = None
    raw = default if raw is None else raw
    return plain(raw) if raw is not None else None


def _agent(link: Link, shell: Shell, scene: Scene, config: Optional[Dict[bytes, bytes]], program: List[Text]) -> Agent:
    visible = visible_devices(shell, scene)
    machines = number(_value(link, config, "num-machines", b"1"))
    alone = b"%d" % len(visible) if visible and machines == 1 else None
    total = number(_value(link, config, "num-processes", alone))
    each = total // machines if total is not None and machines else None
    address = _value(link, config, "main-process-ip", b"127.0.0.1")
    port = _value(link, config, "main-process-port", b"29500")
    backend = _value(link, config, "rdzv-backend", b"static")
    rank = _value(link, config, "machine-rank", None if machines != 1 else b"0")
    unread = (
        link.option("use-deepspeed") is not None or link.option("deepspeed-hostfile") is not None or link.option("tpu")
    )
    cpu = link.option("cpu") is not None or on_cpu(shell, program)
    return Agent(
        "accelerate",
        (machines, machines) if machines and not unread else None,
        each,
        backend.raw if backend is not None else b"",
        plain(b"none"),
        number(rank),
        address,
        port,
        False,
        total,
        visible,
        cpu,
        shell.value(mask_of(scene.allocation.node_kinds)),
        _empty(link, machines),
        _rankless(link, config, machines, backend),
    )


def _empty(link: Link, machines: Optional[int]) -> Tuple[str, ...]:
    """One machine asks for nobody's address (accelerate 1.15.0)."""
    alone = machines is None or machines == 1
    return tuple(name for name in empty_options(link) if not (alone and name == "main-process-ip"))


def _rankless(
    link: Link, config: Optional[Dict[bytes, bytes]], machines: Optional[int], backend: Optional[Text]
) -> bool:
    """accelerate 1.15 ends with a TypeError when several machines meet statically and no rank is said anywhere."""
    if link.open or config is None or machines is None or machines < 2 or backend is None or backend.raw != b"static":
        return False
    return link.option("machine-rank") is None and not config.get(b"machine_rank")


LAUNCHER = Launcher(
    "accelerate",
    {b"accelerate": start, b"accelerate-launch": start_direct},
    PYTHON,
    typed=b"accelerate launch",
    modules={b"accelerate.commands.launch": b"accelerate-launch", b"accelerate.commands.accelerate_cli": b"accelerate"},
    table=TABLE,
    agent=AgentOptions(
        nodes="num-machines", ranks="num-processes", node_rank="machine-rank", spelled_node_rank=b"--machine_rank",
        port="main-process-port", port_unsaid=b"29500", module=b"--module", no_python=b"--no_python",
        to_join="give it --num_machines, --machine_rank, --main_process_ip and the --num_processes of all nodes",
        layout=("num-machines", "num-processes", "machine-rank", "main-process-ip", "main-process-port", "multi-gpu",
                "rdzv-backend", "rdzv-conf", "same-network", "gpu-ids", "deepspeed-hostfile",
                "deepspeed-multinode-launcher"),
        total_ranks=True,
        numbers=("num-processes", "num-machines", "machine-rank", "main-process-port"),
        misplaced=rb"--(?:num_processes|num_machines|machine_rank|main_process_(?:ip|port)|multi_gpu"
                  rb"|mixed_precision|config_file)(?:=|\Z)",
    ),
)  # fmt: skip
