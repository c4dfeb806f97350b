"""Stand-in for torchrun (torch.distributed.run of torch 2.x): the agent, its rendezvous, its workers' environment."""

import argparse
import contextlib
import ipaddress
import os
import socket
import uuid

import store
import world

# option -> default (torch reads PET_<OPTION> first)
VALUES = {
    "nnodes": "1:1",
    "nproc_per_node": "1",
    "rdzv_backend": "static",
    "rdzv_endpoint": "",
    "rdzv_id": "none",
    "rdzv_conf": "",
    "max_restarts": "0",
    "monitor_interval": "0.1",
    "start_method": "spawn",
    "event_log_handler": "null",
    "role": "default",
    "log_dir": "",
    "redirects": "0",
    "tee": "0",
    "node_rank": "0",
    "master_addr": "127.0.0.1",
    "master_port": "29500",
    "local_addr": "",
    "logs_specs": "",
    "numa_binding": "",
    "local_ranks_filter": "",
    "duplicate_stdout_filters": "",
    "duplicate_stderr_filters": "",
    "signals_to_handle": "",
    "virtual_local_rank": "",
}
FLAGS = ("standalone", "module", "no_python", "run_path", "use_env", "shutdown_timeout")


def parser():
    made = argparse.ArgumentParser(prog="torchrun")
    for name, default in VALUES.items():
        made.add_argument(*_spelled(name), default=os.environ.get("PET_" + name.upper(), default))
    for name in FLAGS:
        short = ["-m"] if name == "module" else []
        made.add_argument(*(short + _spelled(name)), action="store_true", default="PET_" + name.upper() in os.environ)
    made.add_argument("program")
    made.add_argument("arguments", nargs=argparse.REMAINDER)
    return made


def _spelled(name):
    return sorted({"--" + name, "--" + name.replace("_", "-")})


def main(name, argv):
    chosen = parser().parse_args(argv)
    try:
        return Agent(chosen, name).run()
    except store.StoreError as error:
        world.say("torch.distributed.%s" % error)
        return 1
    except (ValueError, OSError) as error:
        world.say("%s: %s" % (type(error).__name__, error))
        return 1


class Agent:
    def __init__(self, chosen, name):
        self.chosen, self.name, self.id = chosen, name, uuid.uuid4().hex
        self.least, self.most = _range(chosen.nnodes)
        self.workers = _count(chosen.nproc_per_node)
        self.servers = []

    def run(self):
        if self.chosen.standalone:
            self.chosen.rdzv_backend, self.chosen.rdzv_endpoint = "c10d", "localhost:0"
            self.chosen.rdzv_id = uuid.uuid4().hex
        meet = self._static if self.chosen.rdzv_backend == "static" else self._dynamic
        place, addr, port = meet()
        code = self._work(place, addr, port)
        if code == 0:
            # A peer that left first took its store along: the real one complains of that, too, and exits 0.
            with contextlib.suppress(store.StoreError):
                self.client.ask("leave", run=self.chosen.rdzv_id, count=len(place["workers"]))
        for one in self.servers:
            one.close()
        return code

    # Static: node rank 0 listens at the master's port, everybody connects to the master's address.
    def _static(self):
        endpoint = self.chosen.rdzv_endpoint or "%s:%s" % (self.chosen.master_addr, self.chosen.master_port)
        addr, port = _endpoint(endpoint, 29500)
        rank = int(self.chosen.node_rank)
        if rank == 0:
            self.servers.append(store.Server(port))
        self.client = store.Client(addr, port)
        return self._join(rank), addr, port

    # c10d and etcd-like: the agent on the endpoint's host listens, group ranks come by arrival, group rank 0 opens the
    # workers' store at a free port of its own.
    def _dynamic(self):
        addr, port = _endpoint(self.chosen.rdzv_endpoint or "localhost", 29400)
        if _is_me(addr):
            try:
                self.servers.append(store.Server(port))
                port = self.servers[0].port
            except store.StoreError:
                pass  # another agent of this node was first: torch then connects as a client
        try:
            self.client = store.Client(addr, port)
        except store.StoreError as error:
            raise store.StoreError(
                "elastic.rendezvous.api.RendezvousConnectionError",
                "The connection to the C10d store has failed: %s" % error,
            ) from None
        place = self._join(None)
        told = None
        if place["group_rank"] == 0:
            self.servers.append(store.Server(0))
            told = [world.host(), self.servers[-1].port]
        meet = self.client.ask("meet", run=self.chosen.rdzv_id, tell=told)["meet"]
        if not meet:
            raise store.StoreError("DistStoreError", "group rank 0 did not say where the workers meet")
        return place, meet[0], meet[1]

    def _join(self, rank):
        return self.client.ask(
            "join",
            run=self.chosen.rdzv_id,
            least=self.least,
            most=self.most,
            group_rank=rank,
            host=world.host(),
            workers=self.workers,
            agent=self.id,
        )

    def _work(self, place, addr, port):
        first, size = sum(place["workers"][: place["group_rank"]]), sum(place["workers"])
        started = []
        for local in range(self.workers):
            env = dict(os.environ, MAPLE_CHAIN=world.chained("torchrun"))
            env.update(
                {
                    "LOCAL_RANK": local,
                    "RANK": first + local,
                    "GROUP_RANK": place["group_rank"],
                    "ROLE_RANK": first + local,
                    "ROLE_NAME": self.chosen.role,
                    "LOCAL_WORLD_SIZE": self.workers,
                    "WORLD_SIZE": size,
                    "GROUP_WORLD_SIZE": len(place["workers"]),
                    "ROLE_WORLD_SIZE": size,
                    "MASTER_ADDR": addr,
                    "MASTER_PORT": port,
                    "TORCHELASTIC_RESTART_COUNT": 0,
                    "TORCHELASTIC_USE_AGENT_STORE": True,
                    "TORCHELASTIC_MAX_RESTARTS": self.chosen.max_restarts,
                    "TORCHELASTIC_RUN_ID": self.chosen.rdzv_id,
                }
            )
            if self.workers > 1:
                env.setdefault("OMP_NUM_THREADS", "1")
            started.append(world.start(self._command(), {key: str(value) for key, value in env.items()}))
        return world.attend(started, self.name)

    def _command(self):
        words = [self.chosen.program, *self.chosen.arguments]
        if self.chosen.no_python:
            return words
        return [world.python(), "-u", *(["-m"] if self.chosen.module else []), *words]


def _range(text):
    parts = [int(part) for part in text.split(":")]
    if len(parts) > 2 or min(parts) < 1:
        raise ValueError("nnodes=%s is not in 'MIN:MAX' format" % text)
    return parts[0], parts[-1]


def _count(text):
    gpus = len(world.visible_gpus())
    if text == "gpu":
        if not gpus:
            raise ValueError("Cuda is not available.")
        return gpus
    if text == "cpu" or (text == "auto" and not gpus):
        return os.cpu_count() or 1
    if text == "auto":
        return gpus
    try:
        return int(text)
    except ValueError:
        raise ValueError("Unsupported nproc_per_node value: %s" % text) from None


def _endpoint(text, port):
    host, colon, number = text.strip().rpartition(":")
    if not colon or not number.isdigit():
        if colon:
            raise ValueError("The port number of the rendezvous endpoint '%s' must be an integer" % text)
        return text, port
    if not host:
        raise ValueError("The hostname of the rendezvous endpoint '%s' must be a dot-separated list of labels" % text)
    return host.strip("[]"), int(number)


def _is_me(name):
    if name in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    try:
        if ipaddress.ip_address(name).is_loopback:
            return True
    except ValueError:
        pass
    return bool(_addresses(name) & _addresses(socket.gethostname()))


def _addresses(name):
    try:
        return {found[4][0] for found in socket.getaddrinfo(name, None, socket.AF_INET)}
    except OSError:
        return set()
