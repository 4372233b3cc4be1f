"""Programs over many cards: one rank's part of them, with its collectives.

PyTorch's own fake process group stands for the others: collectives return at once, DTensor's local tensors have a rank's sizes, and
FSDP2's streams and events are written down as they are used.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Iterator, Optional
from unittest import mock

import torch
from torch.utils._python_dispatch import _disable_current_modes

Waits = list[tuple[int, int, int, int]]  # before this call, this stream, waits for that one, as far as that call

COLLECTIVES = ("_c10d_functional", "_c10d_functional_autograd", "c10d", "_dtensor")


def is_spread(types: Any) -> bool:
    """Whether an operator is one of DTensor's, which turns it into a rank's operators and collectives."""
    made = _distributed_tensors()
    return bool(made) and any(issubclass(kind, made) for kind in types)


def local(tensor: torch.Tensor) -> torch.Tensor:
    """A rank's part of a tensor over many, or the tensor itself."""
    while isinstance(tensor, _distributed_tensors()):
        tensor = tensor._local_tensor if hasattr(tensor, "_local_tensor") else tensor.elem  # type: ignore[attr-defined]
    return tensor


@functools.lru_cache(maxsize=None)
def _distributed_tensors() -> tuple[type, ...]:
    if not torch.distributed.is_available():
        return ()
    from torch.distributed._functional_collectives import AsyncCollectiveTensor
    try:
        from torch.distributed.tensor import DTensor
    except ImportError:  # before 2.5
        return (AsyncCollectiveTensor,)
    return (DTensor, AsyncCollectiveTensor)


@contextlib.contextmanager
def ranks(world: int, rank: int = 0) -> Iterator[None]:
    """The process group of a program over `world` cards, of which this is one: inside, `init_device_mesh("cuda", ...)`,
    `parallelize_module` and `fully_shard` work without any.

    >>> with ranks(8):                                                       # doctest: +SKIP
    ...     mesh = init_device_mesh("cuda", (8,), mesh_dim_names=("tp",))
    """
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    if dist.is_initialized():
        raise RuntimeError("a process group is there already; tilecast.torch.ranks makes its own")
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def groups_of(names: set[str]) -> list[tuple[str, list[int]]]:
    """The ranks of process groups, by their names."""
    import torch.distributed as dist
    from torch.distributed import distributed_c10d as c10d
    found = []
    for name in sorted(names):
        group = c10d._resolve_process_group(name)
        found.append((name, list(dist.get_process_group_ranks(group))))
    return found


def world() -> tuple[int, int]:
    """How many cards, and which one this is."""
    import torch.distributed as dist
    if not dist.is_available() or not dist.is_initialized():
        return 1, 0
    return dist.get_world_size(), dist.get_rank()


def group_name(value: Any) -> Optional[str]:
    """The name of a process group that is an operator's argument; None of anything else."""
    if not isinstance(value, torch.ScriptObject):
        return None
    from torch._C._distributed_c10d import ProcessGroup
    try:
        return str(ProcessGroup.unbox(value).group_name)
    except RuntimeError:
        return None


class Streams:
    """The card's streams, by number: 0 is the one that programs run on. Calls say which they were made on."""

    def __init__(self) -> None:
        self.count, self.current = 1, 0
        self.calls: Callable[[], int] = lambda: 0  # how many there are so far
        self.waits: Waits = []

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        stream: Any = type("Stream", (Stream,), {"streams": self})  # types, as PyTorch's are
        event: Any = type("Event", (Event,), {"streams": self})
        made = {"Stream": stream, "Event": event, "stream": self.on, "current_stream": lambda *_: stream(number=self.current),
                "default_stream": lambda *_: stream(number=0), "set_device": lambda *_: None, "is_initialized": lambda: True}
        with contextlib.ExitStack() as stack:
            for name, value in made.items():
                stack.enter_context(mock.patch.object(torch.cuda, name, value))
            stack.enter_context(mock.patch.object(torch.Tensor, "record_stream", lambda *_: None))
            yield

    @contextlib.contextmanager
    def on(self, stream: Optional["Stream"]) -> Iterator[None]:
        before = self.current
        if stream is not None:
            self.current = stream.number
        try:
            yield
        finally:
            self.current = before

    def wait(self, stream: int, event: "Event") -> None:
        if event.until is not None and event.stream != stream:
            self.waits.append((self.calls(), stream, event.stream, event.until))


class Stream:
    """Stands for `torch.cuda.Stream`."""
    streams: Streams
    device_index, device_type = 0, 1  # CUDA's first

    def __init__(self, *_: Any, number: Optional[int] = None, **__: Any) -> None:
        self.device = torch.device("cuda", 0)
        if number is None:
            number, self.streams.count = self.streams.count, self.streams.count + 1
        self.number = number

    def wait_event(self, event: "Event") -> None:
        self.streams.wait(self.number, event)

    def wait_stream(self, other: "Stream") -> None:
        self.streams.wait(self.number, other.record_event())

    def record_event(self, event: Optional["Event"] = None) -> "Event":
        event = event or torch.cuda.Event()
        event.record(self)
        return event

    def synchronize(self) -> None:
        """The host waits, the streams do not."""

    def query(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)

    @property
    def stream_id(self) -> int:
        return self.number


class Event:
    """Stands for `torch.cuda.Event`: what a stream had been given when it was recorded."""
    streams: Streams

    def __init__(self, *_: Any, **__: Any) -> None:
        self.stream = 0
        self.until: Optional[int] = None

    def record(self, stream: Optional[Stream] = None) -> None:
        self.stream = self.streams.current if stream is None else stream.number
        self.until = self.streams.calls()

    def wait(self, stream: Optional[Stream] = None) -> None:
        self.streams.wait(self.streams.current if stream is None else stream.number, self)

    def synchronize(self) -> None:
        """The host waits, the streams do not."""

    def query(self) -> bool:
        return True


@contextlib.contextmanager
def shardings_apart(aside: Callable[[], Any]) -> Iterator[None]:
    """DTensor runs operators over whole tensors to learn their shapes: `aside` says that they are no part of the program."""
    if not _distributed_tensors():
        yield
        return
    try:
        from torch.distributed.tensor._sharding_prop import ShardingPropagator
    except ImportError:
        yield
        return
    plain = getattr(ShardingPropagator, "_propagate_tensor_meta_non_cached", None)
    if plain is None:  # an older release
        yield
        return

    def run(*args: Any, **kwargs: Any) -> Any:
        with aside():
            return plain(*args, **kwargs)

    with mock.patch.object(ShardingPropagator, "_propagate_tensor_meta_non_cached", run):
        yield


@contextlib.contextmanager
def resizes_seen(seen: Callable[[Any], None]) -> Iterator[None]:
    """FSDP2 lets whole parameters go by making their storages empty."""
    plain = torch.UntypedStorage.resize_

    def resize(storage: Any, size: int) -> Any:
        before = storage.nbytes()
        out = plain(storage, size)
        if storage.nbytes() != before:
            seen(storage)
        return out

    with mock.patch.object(torch.UntypedStorage, "resize_", resize):
        yield


@contextlib.contextmanager
def meshes_on_host() -> Iterator[None]:
    """Meshes of devices are tables of ranks on the host, which fake tensors cannot hold."""
    try:
        from torch.distributed.device_mesh import DeviceMesh
    except ImportError:
        yield
        return
    with contextlib.ExitStack() as stack:
        for name, member in list(vars(DeviceMesh).items()):
            if isinstance(member, property) and member.fget is not None:
                stack.enter_context(mock.patch.object(DeviceMesh, name, property(_really(member.fget))))
            elif isinstance(member, staticmethod):
                stack.enter_context(mock.patch.object(DeviceMesh, name, staticmethod(_really(member.__func__))))
            elif callable(member) and not isinstance(member, type):
                stack.enter_context(mock.patch.object(DeviceMesh, name, _really(member)))
        yield


def _really(plain: Any) -> Any:
    @functools.wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return plain(*args, **kwargs)
    return run
