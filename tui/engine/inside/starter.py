"""The warm starter: imports vLLM once, then forks a server per launch.

Run by the keeper as ``python starter.py SOCKET MODULE MODEL`` with the interpreter and the whole environment of the
engines it is to start. SOCKET lies in a directory that only the user can enter; JSON lines go both ways:

    -> {"do": "launch", "argv", "env", "cwd", "log"}
    <- {"ready": import seconds, "threads": n}       once, when everything is imported
    <- {"forked": pid, "start": ticks}               the server, reparented to the keeper
    <- {"refused": why}                              not safe or not possible: start it plainly

The server is forked twice, so that the keeper becomes its parent, reaps it and knows its exit code. vLLM's own choice
of start method for its processes is asked, not replaced: where it names a reason for spawn (CUDA, Ray, NUMA, WSL,
the user's own setting) it is spawn; only the blanket "spawn" of the CPU platform and of `vllm serve` becomes fork.

Python 3.9 syntax; never imports tui.
"""

import atexit
import ctypes
import gc
import importlib
import json
import multiprocessing
import multiprocessing.resource_tracker
import os
import runpy
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from typing import Any, Dict, List, Optional, Tuple

PR_SET_PDEATHSIG = 1
METHOD = "VLLM_WORKER_MULTIPROC_METHOD"
SERVERS = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main")

# What a server, its core and its worker import anyway, and no more: on CPU the worker goes over every loaded module
# (P/triton_utils/dispatcher.py:123) and falls over numba, which only n-gram speculation loads, and later.
# A name that an install lacks is skipped.
HEAVY = (
    "vllm.v1.engine.core",
    "vllm.v1.engine.async_llm",
    "vllm.v1.executor.multiproc_executor",
    "vllm.model_executor.models.registry",
)
HEAVY_CPU = ("vllm.v1.worker.cpu_worker", "vllm.v1.worker.cpu_model_runner", "vllm.v1.attention.backends.cpu_attn")
HEAVY_GPU = ("vllm.v1.worker.gpu_worker", "vllm.v1.worker.gpu_model_runner")


def native_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def preload(server: str, model: str) -> None:
    """Import everything heavy."""
    for name in (server, *HEAVY):
        attempt(name)
    from vllm.platforms import current_platform

    for name in HEAVY_CPU if current_platform.is_cpu() else HEAVY_GPU:
        attempt(name)
    for name in model_modules(model):
        attempt(name)
    if current_platform.is_cpu() and os.environ.get("VLLM_SERVER_DEV_MODE") == "1":
        describe_system()
    gc.collect()
    gc.freeze()  # the collector writes to what it visits; frozen, the pages stay shared with the servers
    trial_fork()


def describe_system() -> None:
    """Fill the cache behind /server_info's system_env, which costs every server's first answer two seconds.

    Not on a GPU, where it looks at the devices.
    """
    try:
        router = importlib.import_module("vllm.entrypoints.serve.dev.server_info.api_router")
        router._get_system_env_info_cached()
    except Exception as error:  # another vLLM keeps it elsewhere: its servers pay for it themselves
        print(f"warm starter: the system is not described yet: {error!r}", flush=True)


def trial_fork() -> None:
    """Fork once in vain: it ends the thread pools that take care of forks themselves.

    numpy, scipy and OpenCV each bring an OpenBLAS, which starts its threads when loaded and ends them before a fork
    (they come back when used). What still runs afterwards is a thread that nobody looks after.
    """
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def attempt(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"warm starter: {name} is not preloaded: {error}", flush=True)


def model_modules(model: str) -> List[str]:
    """The module of the checkpoint's architecture, if it is a local folder that vLLM's registry knows."""
    try:
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            architectures = json.load(file)["architectures"]
        registry = sys.modules["vllm.model_executor.models.registry"].ModelRegistry.models
        return [registry[name].module_name for name in architectures if name in registry]
    except Exception as error:  # a model that can't be foreseen only costs a second
        print(f"warm starter: the model's code is not preloaded: {error!r}", flush=True)
        return []


# -- is it safe to fork


def objection() -> Optional[str]:
    """Why this process must not be forked now; None if it may."""
    threads = native_threads()
    if threads > 1:
        return f"the starter has {threads} threads, and all but one would be missing after a fork"
    if multiprocessing.resource_tracker._resource_tracker._fd is not None:  # its engines would share one
        return "an import started multiprocessing's resource tracker"
    import torch

    if torch.cuda._is_compiled() and torch.cuda.is_initialized():
        return "CUDA is initialised in the starter"
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == "/dev/nvidia-uvm":
                return "an import opened a CUDA context"
        except OSError:
            continue
    system = sys.modules.get("vllm.utils.system_utils") or sys.modules.get("vllm.utils")
    if not all(callable(getattr(system, name, None)) for name in ("get_mp_context", "_maybe_force_spawn")):
        return "this vLLM chooses its start method in another way"
    return None


def module_of(argv: List[str]) -> Optional[Tuple[str, List[str]]]:
    """The server's module and its arguments, of ``python -m MODULE ...``; None for any other command."""
    if len(argv) > 2 and argv[1] == "-m" and argv[2] in SERVERS:
        return argv[2], argv[3:]
    return None


# -- vLLM's choice of start method


def wrap_choice(env: Dict[str, str]) -> None:
    """Let vLLM choose, without the blanket default that stands before its reasons."""
    if env.get(METHOD) == "spawn":
        return  # the user's own word
    system = sys.modules.get("vllm.utils.system_utils") or sys.modules["vllm.utils"]
    original = system.get_mp_context

    def get_mp_context() -> Any:
        blanket = os.environ.pop(METHOD, None)
        system._maybe_force_spawn()
        if os.environ.get(METHOD) == "spawn":
            return original()  # it has a reason, and has logged it
        if blanket is not None:
            os.environ[METHOD] = blanket
        return multiprocessing.get_context("fork")

    for module in list(sys.modules.values()):
        # vars() and not hasattr(): transformers imports half of itself when asked for an attribute.
        if vars(module).get("get_mp_context") is original:
            module.get_mp_context = get_mp_context


# -- forking


def fork_server(launch: Dict[str, Any], ours: List[int]) -> Tuple[int, int]:
    """Fork a server that is no child of ours; returns its pid and start time."""
    go_reader, go_writer = os.pipe()
    pid_reader, pid_writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        try:
            child = os.fork()
            if child == 0:
                os.close(go_writer)
                os.read(go_reader, 1)  # until the middle one is gone and the keeper is the parent
                serve(launch, [*ours, go_reader, pid_reader, pid_writer])
            os.write(pid_writer, str(child).encode())
        finally:
            os._exit(0)
    os.close(go_reader)
    os.close(pid_writer)
    os.waitpid(middle, 0)
    child = int(os.read(pid_reader, 32))
    os.close(pid_reader)
    with open(f"/proc/{child}/stat", "rb") as file:
        stat = file.read()
    start = int(stat[stat.rfind(b")") + 2 :].split()[19])
    os.write(go_writer, b"x")
    os.close(go_writer)
    return child, start


def serve(launch: Dict[str, Any], descriptors: List[int]) -> None:
    """Become the server of `launch`; never returns. A traceback ends in its log, as in a plain start."""
    code = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        log = os.open(launch["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        for descriptor in [*descriptors, log, null]:
            os.close(descriptor)
        if launch.get("cwd"):
            os.chdir(launch["cwd"])
        os.environ.clear()
        os.environ.update(launch["env"])
        wrap_choice(launch["env"])
        code = run(launch["argv"])
    except BaseException:
        traceback.print_exc()
    finally:
        finish(code)


def run(argv: List[str]) -> int:
    """Run the server's module as `python -m` would; its exit code."""
    module, arguments = module_of(argv)  # type: ignore[misc]
    sys.argv = [sys.modules[module].__file__ or module, *arguments]
    sys.modules.pop(module, None)  # runpy warns about a module that it is to run and that is imported
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except KeyboardInterrupt:
        return 130
    return 0


def finish(code: int) -> None:
    """Leave as the interpreter would: exit handlers run (vLLM's clean-up is among them), then the end."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


# -- the socket


def is_same_user(connection: socket.socket) -> bool:
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid == os.getuid()


def answer(request: Dict[str, Any], ours: List[int]) -> Dict[str, Any]:
    if module_of(request["argv"]) is None:
        return {"refused": "this command is not a vLLM server that can be forked"}
    why = objection()
    if why is not None:
        return {"refused": why}
    pid, start = fork_server(request, ours)
    return {"forked": pid, "start": start}


def main(path: str, server: str, model: str) -> None:
    sys.path.pop(0)  # this folder; the server must not find keeper.py here
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(1)
    connection, _ = listener.accept()
    if not is_same_user(connection):
        sys.exit("warm starter: a stranger connected")
    begin = time.monotonic()
    preload(server, model)
    lines = connection.makefile("rwb")

    def say(**words: Any) -> None:
        lines.write(json.dumps(words).encode() + b"\n")
        lines.flush()

    say(ready=round(time.monotonic() - begin, 3), threads=native_threads())
    ours = [listener.fileno(), connection.fileno()]
    for line in lines:
        try:
            say(**answer(json.loads(line), ours))
        except Exception as error:
            traceback.print_exc()
            say(refused=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
