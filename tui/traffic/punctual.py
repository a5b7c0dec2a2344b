"""Being woken on time where others use the processors too."""

import contextlib
import ctypes
import os
import platform
import sys

_SLICE_NS = 100_000  # the shortest there is
_RAISED = -10
_NORMAL = 0  # SCHED_OTHER
_NOT_INHERITED = 1  # SCHED_FLAG_RESET_ON_FORK
_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}


class _Attr(ctypes.Structure):
    """struct sched_attr of sched_setattr(2), first version."""

    _fields_ = [
        ("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64), ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32), ("runtime", ctypes.c_uint64), ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    ]  # fmt: skip


def be_punctual() -> None:
    """Ask the scheduler to let this process run as soon as it wakes; does nothing where it can't be had.

    From Linux 6.12 on a process may ask for short turns, for which it gets them earlier; nobody has to allow that. A
    higher priority is taken too where it is allowed, unless somebody started us with another than the usual one.
    """
    if sys.platform != "linux":
        return
    if os.getpriority(os.PRIO_PROCESS, 0) == 0:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, _RAISED)
    if (number := _SETATTR.get(platform.machine())) is not None and sys.maxsize > 2**32:
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        attr = _Attr(ctypes.sizeof(_Attr), _NORMAL, _NOT_INHERITED, nice, runtime=_SLICE_NS)
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).syscall(ctypes.c_long(number), 0, ctypes.byref(attr), 0)
