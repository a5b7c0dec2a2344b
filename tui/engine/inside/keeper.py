"""The keeper: owns every engine of one vtune, and outlives vtune by the seconds it takes to end them.

Run as ``python -I keeper.py FD OWNER_PID STATE_FILE`` in a session of its own. FD is one end of a socket pair;
JSON lines go both ways. When it closes, for whatever reason, when the owner is gone, or on a signal, every
descendant is continued, terminated, killed after a grace, and waited for. Being the subreaper of its descendants,
the keeper inherits those whose parent dies, and no daemon can slip away.

Commands:  {"do": "launch", "id", "argv", "env", "cwd", "log"}    answers started {pid, start} or refused {error}
           {"do": "adopt", "id", "pid", "start", "log"}           a server that a warm starter forked
           {"do": "stop", "id", "grace_s"}                        answers stopped
           {"do": "status"}                                       answers status
Events:    started, refused, exit {id, pid, code | signal}, gone {id}, stopped {id}, stuck {id, pids}, status

Stdlib only, Python 3.9 syntax, one thread: a fork here is safe.
"""

import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kin  # noqa: E402
import logs  # noqa: E402
from ladder import Ladder, Launched, Reaped, remove_shared, remove_stores  # noqa: E402
from spawning import PR_SET_CHILD_SUBREAPER, prctl, spawn  # noqa: E402

LEFTOVER_GRACE_S = 3.0  # for what a launch leaves behind, and for all when the owner is gone
STUCK_AFTER_S = 10.0  # after SIGKILL; a process in uninterruptible sleep dies when its device answers
TICK_S = 0.05


class Keeper:
    def __init__(self, link: socket.socket, owner: int, state_file: str) -> None:
        self.link = link
        self.owner = owner
        self.state_file = state_file
        self.launches: Dict[str, Launched] = {}
        self.known: Dict[Tuple[int, int], str] = {}  # members seen, for one that loses every other trace
        self.unclaimed: Dict[Tuple[int, int], Reaped] = {}  # reaped before they were adopted
        self.inbox = b""
        self.outbox = b""
        self.closing = False
        self.looked = 0.0  # when the logs were last looked at
        self.selector = selectors.DefaultSelector()

    # -- the loop

    def run(self) -> None:
        self.link.setblocking(False)
        self.selector.register(self.link, selectors.EVENT_READ, self.receive)
        self.watch_signals()
        self.watch_owner()
        self.save()
        while not (self.closing and not self.launches and not self.all_members()):
            busy = self.closing or any(launch.ladder for launch in self.launches.values())
            for key, mask in self.selector.select(TICK_S if busy else logs.LOOK_S if self.launches else None):
                key.data(mask)
            self.reap()
            self.step()
            self.bound_logs()
        self.forget()

    def watch_signals(self) -> None:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda *_: self.close())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self.selector.register(reader, selectors.EVENT_READ, lambda _: os.read(reader, 4096))

    def watch_owner(self) -> None:
        """A second sign beside the closed pipe, which another child of the owner might have inherited."""
        try:
            handle = os.pidfd_open(self.owner)
        except (AttributeError, OSError):
            return
        self.selector.register(handle, selectors.EVENT_READ, lambda _: self.owner_gone(handle))

    def owner_gone(self, handle: int) -> None:
        self.selector.unregister(handle)
        self.close()

    # -- the link to vtune

    def receive(self, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self.flush()
        if not mask & selectors.EVENT_READ:
            return
        try:
            data = self.link.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(self.link)  # a half-closed link still takes the last events
            self.close()
            return
        *lines, self.inbox = (self.inbox + data).split(b"\n")
        for line in lines:
            try:
                self.obey(json.loads(line))
            except Exception as error:  # a bad command must not take the engines with it
                self.tell("fault", error=f"{type(error).__name__}: {error}")

    def obey(self, command: Dict[str, Any]) -> None:
        do = command["do"]
        if do == "launch":
            self.launch(command)
        elif do == "adopt":
            self.adopt(command["id"], command["pid"], command["start"], command["log"])
        elif do == "stop":
            self.stop(command["id"], float(command["grace_s"]))
        elif do == "status":
            self.tell("status", launches={name: launch.pid for name, launch in self.launches.items()})
        else:
            raise ValueError(f"unknown command {do!r}")

    def tell(self, event: str, **fields: Any) -> None:
        """Queue an event; a suspended vtune must never block the keeper."""
        self.outbox += json.dumps({"event": event, **fields}).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        try:
            while self.outbox:
                self.outbox = self.outbox[self.link.send(self.outbox) :]
        except BlockingIOError:
            pass
        except OSError:
            self.outbox = b""  # closed; reading notices and ends everything
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.outbox else 0)
        if self.link.fileno() in self.selector.get_map():
            self.selector.modify(self.link, events, self.receive)

    # -- launching

    def launch(self, command: Dict[str, Any]) -> None:
        name = command["id"]
        if self.closing or name in self.launches:
            self.tell("refused", id=name, error="the keeper is closing" if self.closing else "this id is in use")
            return
        try:
            pid = spawn(command["argv"], {**command["env"], kin.TAG: name}, command.get("cwd"), command["log"])
        except OSError as error:
            self.tell("refused", id=name, error=f"{error.strerror}: {error.filename or command['argv'][0]}")
            return
        self.enter(name, pid, command["log"])

    def adopt(self, name: str, pid: int, start: int, log: str) -> None:
        self.reap()
        if (pid, start) in self.unclaimed:
            self.launches[name] = Launched(name, pid, start, log)
            self.tell("started", id=name, pid=pid, start=start)
            self.ended(self.launches[name], self.unclaimed.pop((pid, start)))
            return
        procs = kin.table()
        proc = procs.get(pid)
        # One that has ended already counts: it is reaped in this very round.
        if proc is None or proc.start != start or proc not in kin.descendants(os.getpid(), procs):
            self.tell("refused", id=name, error=f"process {pid} is not a descendant of the keeper")
            return
        self.enter(name, pid, log)

    def enter(self, name: str, pid: int, log: str) -> None:
        proc = kin.read(pid) if kin.HAVE_PROC else None
        start = proc.start if proc else 0
        self.launches[name] = Launched(name, pid, start, log)
        self.save()
        self.tell("started", id=name, pid=pid, start=start)

    def bound_logs(self) -> None:
        if time.monotonic() - self.looked < logs.LOOK_S:
            return
        self.looked = time.monotonic()
        for launch in self.launches.values():
            try:
                logs.bound(launch.log)
            except OSError:
                pass  # it may be gone, or the disk full: no reason to end an engine

    # -- ending

    def stop(self, name: str, grace_s: float) -> None:
        launch = self.launches.get(name)
        if launch is None:
            self.tell("stopped", id=name)  # it ended by itself before
            return
        launch.asked = True
        if launch.ladder is None:
            launch.ladder = Ladder(grace_s)
        else:
            launch.ladder.hurry(grace_s)

    def close(self) -> None:
        """End everything, then leave the loop."""
        self.closing = True
        for launch in self.launches.values():
            if launch.ladder is None:
                launch.ladder = Ladder(LEFTOVER_GRACE_S)
            launch.ladder.hurry(LEFTOVER_GRACE_S)

    def reap(self) -> None:
        while True:
            ended = next_ended()
            if ended is None:
                return
            pid, proc, status = ended
            ending = (None, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), None)
            launch = next((one for one in self.launches.values() if one.pid == pid and one.ending is None), None)
            if launch is not None:
                self.ended(launch, ending)
            elif proc is not None:
                self.unclaimed[(pid, proc.start)] = ending
                while len(self.unclaimed) > 64:
                    self.unclaimed.pop(next(iter(self.unclaimed)))

    def ended(self, launch: Launched, ending: Reaped) -> None:
        launch.ending = ending
        launch.ladder = launch.ladder or Ladder(LEFTOVER_GRACE_S)
        self.tell("exit", id=launch.name, pid=launch.pid, code=ending[0], signal=ending[1])

    def step(self) -> None:
        """One round over all ladders."""
        if not self.closing and not any(launch.ladder for launch in self.launches.values()):
            return
        members = self.members()
        for launch in list(self.launches.values()):
            if launch.ladder is None:
                continue
            left = members.get(launch.name, [])
            if launch.shared is None:
                launch.shared = kin.shared_files(proc.pid for proc in left)
            launch.ladder.step(left)
            if not left and launch.ending is not None:
                self.finish(launch)
            elif left and not launch.ladder.stuck and time.monotonic() > launch.ladder.kill_at + STUCK_AFTER_S:
                launch.ladder.stuck = True
                self.tell("stuck", id=launch.name, pids=[proc.pid for proc in left])
        if self.closing:
            for proc in (one for name, group in members.items() if name not in self.launches for one in group):
                kin.send(proc, signal.SIGKILL)  # no launch claims it, and nobody is left to ask

    def finish(self, launch: Launched) -> None:
        del self.launches[launch.name]
        self.known = {key: name for key, name in self.known.items() if name != launch.name}
        self.save()
        remove_shared(launch.shared or set())
        remove_stores(launch.log)
        self.tell("gone", id=launch.name)
        if launch.asked:
            self.tell("stopped", id=launch.name)

    # -- who is there

    def all_members(self) -> List[kin.Proc]:
        """Every living descendant of the keeper."""
        if not kin.HAVE_PROC:
            return [proc for group in self.members().values() for proc in group]
        return [proc for proc in kin.descendants(os.getpid(), kin.table()) if proc.alive]

    def members(self) -> Dict[str, List[kin.Proc]]:
        """The living members of each launch; those of no known launch under the name they carry, or ''."""
        groups: Dict[str, List[kin.Proc]] = {}
        if not kin.HAVE_PROC:
            return {one.name: group(one.pid) for one in self.launches.values()}
        procs = kin.table()
        leaders = {launch.pid: launch.name for launch in self.launches.values()}
        for proc in kin.descendants(os.getpid(), procs):
            if not proc.alive:
                continue
            key = (proc.pid, proc.start)
            name = kin.owner_of(proc, procs, leaders)
            if name not in self.launches:
                name = self.known.get(key, name)
            if name is not None:
                self.known[key] = name
            groups.setdefault(name or "", []).append(proc)
        return groups

    # -- the state file

    def save(self) -> None:
        """Written for `vtune doctor`, should the keeper itself be killed."""
        me = kin.read(os.getpid()) if kin.HAVE_PROC else None
        owner = kin.read(self.owner) if kin.HAVE_PROC else None
        state = {
            "schema": "vtune.engines/1",
            "boot": kin.boot_id(),
            "keeper": {"pid": os.getpid(), "start": me.start if me else 0},
            "owner": {"pid": self.owner, "start": owner.start if owner else 0},
            "launches": [
                {"id": one.name, "pid": one.pid, "start": one.start, "log": one.log} for one in self.launches.values()
            ],
        }
        part = f"{self.state_file}.part"
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump(state, file)
            os.replace(part, self.state_file)
        except OSError as error:
            self.tell("fault", error=f"state file not written: {error}")  # a full disk must not stop an engine's end

    def forget(self) -> None:
        try:
            os.unlink(self.state_file)
        except OSError:
            pass


def next_ended() -> Optional[Tuple[int, Optional[kin.Proc], int]]:
    """Reap a child: its pid, what it was, its status; None if none has ended."""
    try:
        if not kin.HAVE_PROC:
            pid, status = os.waitpid(-1, os.WNOHANG)
            return (pid, None, status) if pid else None
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        proc = kin.read(found.si_pid)  # while it is a zombie, it still has a start time
        return found.si_pid, proc, os.waitpid(found.si_pid, 0)[1]
    except ChildProcessError:
        return None


def group(leader: int) -> List[kin.Proc]:
    """Without /proc: the process group of a launch, as one entry."""
    try:
        os.killpg(leader, 0)
    except OSError:
        return []
    return [kin.Proc(-leader, 0, leader, 0, "?")]


def main() -> None:
    descriptor, owner, state_file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    os.set_inheritable(descriptor, False)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    Keeper(socket.socket(fileno=descriptor), owner, state_file).run()


if __name__ == "__main__":
    main()
