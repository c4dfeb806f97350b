"""Stand-ins for what scripts call around a launch: nvidia-smi, and module and conda, which change nothing here."""

import world


def main(name, argv):
    return smi(argv) if name == "nvidia-smi" else 0


def smi(argv):
    """List the node's GPUs: -L, or one line for each where a query is made."""
    here = world.node()
    gpus = world.visible_gpus({}) if here.get("gres", True) is False else list(range(here.get("gpus", 0)))
    if not gpus:
        world.say("No devices were found")
        return 6
    for gpu in gpus:
        if argv[:1] == ["-L"]:
            print("GPU %d: %s (UUID: GPU-%08d)" % (gpu, here.get("gpu_type") or "gpu", gpu))
        elif argv:
            print(gpu if "index" in " ".join(argv) else here.get("gpu_type") or "gpu")
    return 0
