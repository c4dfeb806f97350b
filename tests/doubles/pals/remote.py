"""Stand-ins for what reaches another host: ssh, pdsh, pbs_tmrsh and pbsdsh.

ssh and pdsh start in the login environment, as sshd gives it: nothing of the caller's comes along. What is started
through PBS (pbs_tmrsh, pbsdsh) gets the environment that the job began with, not what the script exported since.
"""

import getopt
import json
import os
import subprocess
import sys
import threading

import world

SSH = "1246AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:"
LAB = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main(name, argv):
    """Run one of the four."""
    try:
        return {"ssh": ssh, "pdsh": pdsh, "pbs_tmrsh": tmrsh, "pbsdsh": dsh}[name](argv)
    except getopt.GetoptError as error:
        world.say("%s: %s" % (name, error))
        return 255


def ssh(argv):
    options, words = getopt.getopt(argv, SSH)
    if not words:
        world.say("usage: ssh destination [command]")
        return 255
    host = words[0].split("@")[-1]
    pid = holder(host)
    if pid is None:
        world.say("ssh: Could not resolve hostname %s: Name or service not known" % host)
        return 255
    flags = {flag for flag, _ in options}
    if flags & {"-n", "-f"}:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if "-f" in flags and os.fork():
        return 0
    enter(pid, login(), ["/bin/bash", "-c", " ".join(words[1:])] if words[1:] else ["/bin/bash", "-l"])


def pdsh(argv):
    """Run a command on several hosts at once; %h and %n in it are the host and its number, and lines are labelled."""
    options, words = getopt.getopt(argv, "SNqbdR:w:x:l:t:u:f:")
    said = dict(options)
    hosts = [one for one in said.get("-w", os.environ.get("WCOLL", "")).split(",") if one]
    codes = [0] * len(hosts)

    def run(index, host):
        text = " ".join(words).replace("%h", host).replace("%n", str(index))
        here = os.path.join(LAB, "bin", "ssh")
        child = subprocess.Popen([here, "-n", host, text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in child.stdout:
            label = b"" if "-N" in said else host.encode() + b": "
            sys.stdout.buffer.write(label + line)
            sys.stdout.buffer.flush()
        codes[index] = child.wait()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(hosts)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return max(codes, default=1) if "-S" in said else 0


def tmrsh(argv):
    """pbs_tmrsh HOST COMMAND: start it through PBS; only hosts of the job can be named."""
    options, words = getopt.getopt(argv, "nl:")
    if len(words) < 2:
        world.say("pbs_tmrsh: host command [args]")
        return 1
    given = job()
    if words[0] not in nodes(given):
        world.say("pbs_tmrsh: host %s is not part of the job" % words[0])
        return 255
    enter(holder(words[0]), given, ["/bin/sh", "-c", " ".join(words[1:])])


def dsh(argv):
    """pbsdsh [-c N] [-n N] [-v] [--] COMMAND: once for each line of the node file."""
    options, words = getopt.getopt(argv, "c:n:osv")
    said, given = dict(options), job()
    places = list(enumerate(nodes(given)))
    if "-n" in said:
        places = places[int(said["-n"]) : int(said["-n"]) + 1]
    places = places[: int(said["-c"])] if "-c" in said else places
    hosts = list(dict.fromkeys(nodes(given)))
    children = []
    for index, host in places:
        numbers = {"PBS_VNODENUM": str(index), "PBS_TASKNUM": str(index + 2), "PBS_NODENUM": str(hosts.index(host))}
        children.append(subprocess.Popen(entering(holder(host), given["HOME"], words), env={**given, **numbers}))
    return max([child.wait() for child in children], default=0)


def holder(host):
    """Return the process that holds the host of that name or address, None where there is none."""
    with open(os.path.join(LAB, "etc", "hosts.json")) as file:
        return json.load(file).get(world.host() if host in ("localhost", "127.0.0.1") else host)


def job():
    with open(os.path.join(LAB, "etc", "job.json")) as file:
        return json.load(file)


def nodes(given):
    with open(given["PBS_NODEFILE"]) as file:
        return file.read().split()


def login():
    """Return what sshd gives: that, and nothing of the caller's but its language."""
    env = {name: os.environ[name] for name in os.environ if name == "LANG"}
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or "root"
    path = "%s/bin:/usr/local/bin:/usr/bin:/bin" % LAB
    env.update(HOME="%s/home" % LAB, USER=user, LOGNAME=user, SHELL="/bin/bash", PATH=path)
    return env


def entering(pid, cwd, argv):
    """Return the words that run *argv* on the host that *pid* holds, in *cwd*."""
    return ["/usr/bin/nsenter", "--target=%d" % pid, "--uts", "--mount", "--net", "--wdns=" + cwd, "--", *argv]


def enter(pid, env, argv):
    """Become *argv* on the host that *pid* holds."""
    words = entering(pid, env["HOME"], argv)
    os.execve(words[0], words, env)
