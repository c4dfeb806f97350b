"""The meeting point of agents and of ranks: one TCP server, JSON lines, a deadline on everything.

What torch's store does for a launch line, and no more: agents join a round and learn their group rank, ranks say who
they are and learn whether their world is whole, agents wait for each other before they leave.
"""

import json
import os
import socket
import threading
import time

DEADLINE = float(os.environ.get("MAPLE_DOUBLE_DEADLINE", "8"))


class StoreError(Exception):
    """What the launcher prints as its error; the kind is the name torch gives it."""

    def __init__(self, kind, says):
        super().__init__("%s: %s" % (kind, says))


class Server:
    """Listens on all addresses at *port* (0: any free one). Raises `StoreError` when the port is taken."""

    def __init__(self, port):
        self.world_id = os.urandom(6).hex()
        self._rounds, self._ranks, self._left, self._answered = {}, [], {}, 0
        self._changed = threading.Condition()
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("", port))
            self._socket.listen(512)
        except OSError as error:
            self._socket.close()
            raise StoreError(
                "DistNetworkError",
                "The server socket has failed to listen on any local network address. port: %d, %s" % (port, error),
            ) from None
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._socket.close()

    def drain(self):
        """Wait until every rank that came has its answer: it would be lost if this process ended before."""
        with self._changed:
            self._wait(lambda: self._answered >= len(self._ranks))

    def _accept(self):
        while True:
            try:
                one, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one):
        with one, one.makefile("rwb") as stream:
            try:
                for line in stream:
                    asked = json.loads(line)
                    op = asked.pop("op")
                    answer = getattr(self, "_" + op)(**asked)
                    stream.write(json.dumps(answer).encode() + b"\n")
                    stream.flush()
                    if op == "rank":
                        with self._changed:
                            self._answered += 1
                            self._changed.notify_all()
            except (OSError, ValueError):
                return

    def _wait(self, true):
        end = time.monotonic() + DEADLINE
        while not true() and time.monotonic() < end:
            self._changed.wait(0.1)
        return true()

    # An agent's wish to join the round of *run*; *group_rank* None: by arrival.
    def _join(self, run, least, most, group_rank, host, workers, agent):
        me = {"host": host, "workers": workers, "agent": agent, "rank": group_rank}
        with self._changed:
            here = self._rounds.setdefault(run, {"members": [], "closed": False})
            if here["closed"] and group_rank is None:
                self._wait(lambda: False)
                return {"error": ["RendezvousTimeoutError", "the round of %r was complete without this agent" % run]}
            here["members"].append(me)
            self._changed.notify_all()
            distinct = lambda: len({one["rank"] for one in here["members"]} & set(range(most)))  # noqa: E731
            count = (lambda: len(here["members"])) if group_rank is None else distinct
            full = self._wait(lambda: here["closed"] or count() >= most)
            if not full and count() < least:
                return {
                    "error": [
                        "RendezvousTimeoutError" if group_rank is None else "DistStoreError",
                        "%d/%d agents of %r joined" % (count(), least, run),
                    ]
                }
            here["closed"] = True
            self._changed.notify_all()
            return self._place(here["members"], me, most)

    def _place(self, members, me, most):
        if me["rank"] is None:
            chosen = members[:most]
            if me not in chosen:
                self._wait(lambda: False)
                return {"error": ["RendezvousTimeoutError", "there was no place in the round"]}
            own = chosen.index(me)
        else:
            first = {}
            for one in members:
                first.setdefault(one["rank"], one)
            chosen = [first[rank] for rank in sorted(first) if 0 <= rank < most]
            own = me["rank"]
            if not 0 <= own < len(chosen):
                return {"error": ["DistNetworkError", "Failed to recv, got 0 bytes (node rank %d of %d)" % (own, most)]}
        return {
            "group_rank": own,
            "workers": [one["workers"] for one in chosen],
            "hosts": [one["host"] for one in chosen],
        }

    # The address at which the workers of this round meet: told by group rank 0, asked by the others.
    def _meet(self, run, tell):
        with self._changed:
            here = self._rounds.setdefault(run, {"members": [], "closed": False})
            if tell:
                here["meet"] = tell
                self._changed.notify_all()
            self._wait(lambda: "meet" in here)
            return {"meet": here.get("meet")}

    # An agent has finished; it may leave when the others have as well.
    def _leave(self, run, count):
        with self._changed:
            self._left[run] = self._left.get(run, 0) + 1
            self._changed.notify_all()
            return {"all": self._wait(lambda: self._left[run] >= count)}

    # A rank says who it is, and learns whether its world is whole.
    def _rank(self, rank, world, host, device, local_rank, pid):
        me = {"rank": rank, "world": world, "host": host, "device": device, "pid": pid}
        with self._changed:
            self._ranks.append(me)
            self._changed.notify_all()
            self._wait(lambda: self._wrong() or len(self._ranks) >= world)
            why = self._wrong()
            if not why and len(self._ranks) < world:
                missing = sorted(set(range(world)) - {one["rank"] for one in self._ranks})
                why = "%d/%d ranks arrived, missing %s" % (len(self._ranks), world, missing[:16])
            if why:  # what broke the world stays: a latecomer hears it too
                self._broken = why
            return {"ok": not why, "why": why, "world_id": self.world_id}

    _broken = ""

    def _wrong(self):
        if self._broken:
            return self._broken
        seen, devices = {}, {}
        for one in self._ranks:
            if one["world"] != self._ranks[0]["world"]:
                return "ranks disagree on the world size: %d and %d" % (self._ranks[0]["world"], one["world"])
            if not 0 <= one["rank"] < one["world"]:
                return "rank %d is not below the world size %d" % (one["rank"], one["world"])
            if one["rank"] in seen:
                return "rank %d twice, on %s and %s" % (one["rank"], seen[one["rank"]], one["host"])
            seen[one["rank"]] = one["host"]
            place = (one["host"], one["device"])
            if one["device"] is not None and place in devices:
                return "Duplicate GPU detected: ranks %d and %d both on %s device %s" % (
                    (devices[place], one["rank"]) + place
                )
            devices[place] = one["rank"]
        return ""


class Client:
    """A connection to a `Server`, tried until the deadline."""

    def __init__(self, host, port):
        end = time.monotonic() + DEADLINE
        while True:
            try:
                self._socket = socket.create_connection((host, port), timeout=max(0.2, end - time.monotonic()))
                break
            except OSError as error:
                if time.monotonic() + 0.05 > end:
                    raise StoreError(
                        "DistNetworkError",
                        "The client socket has timed out while trying to connect to (%s, %s): %s" % (host, port, error),
                    ) from None
                time.sleep(0.05)
        self._socket.settimeout(DEADLINE * 3)
        self._stream = self._socket.makefile("rwb")

    def ask(self, op, **what):
        try:
            self._stream.write(json.dumps(dict(what, op=op)).encode() + b"\n")
            self._stream.flush()
            answer = self._stream.readline()
        except OSError as error:
            raise StoreError(
                "RendezvousConnectionError", "The connection to the C10d store has failed: %s" % error
            ) from None
        if not answer:
            raise StoreError(
                "RendezvousConnectionError", "The connection to the C10d store has failed: closed by the server"
            )
        answer = json.loads(answer)
        if answer.get("error"):
            raise StoreError(*answer["error"])
        return answer
