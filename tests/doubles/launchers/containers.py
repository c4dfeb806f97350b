"""Stand-ins for apptainer, singularity and shifter: what they would run inside, run outside."""

import os

import world

VALUES = {
    "-B",
    "--bind",
    "--env",
    "--env-file",
    "-H",
    "--home",
    "--overlay",
    "--pwd",
    "--cwd",
    "--workdir",
    "-W",
    "--mount",
    "--image",
    "--volume",
    "-V",
    "--module",
    "-m",
    "--scratch",
    "-S",
    "--dns",
    "--hostname",
    "--network",
    "-i",
}
LOCAL_FLAGS = {"--nv", "--rocm", "--cleanenv", "-e", "--contain", "-c", "--containall", "-C", "--writable-tmpfs"}


def main(name, argv):
    argv = skip(argv)
    if name != "shifter":
        if argv[:1] not in (["exec"], ["run"], ["shell"]):
            return 0
        argv = skip(argv[1:])
        if not argv:
            world.say("%s: no image was named" % name)
            return 1
        argv = skip(argv[1:]) if argv[1:2] == ["--"] else argv[1:]
    if not argv:
        return 0
    os.environ["MAPLE_CHAIN"] = world.chained(name)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        world.say("%s: %s: %s" % (name, argv[0], error.strerror))
        return 255


def skip(argv):
    """Return *argv* behind the runner's options; --env has its effect."""
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] == "--":
            return argv[at + 1 :]
        name, same, value = argv[at].partition("=")
        if not same and name in VALUES:
            at += 1
            value = (argv[at : at + 1] or [""])[0]
        if name == "--env":
            os.environ.update(part.split("=", 1) for part in value.split(",") if "=" in part)
        at += 1
    return argv[at:]
