"""Operators' names and arguments in plain words: kinds and values that any language reads."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .program import Table, number
from .ranks import group_name

DTYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.float64: "fp64",
          torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8",
          torch.bool: "bool"}
Argument = tuple[str, str, Any]
ABSENT = -1  # an optional tensor of a list that is not given


class Describer:
    """Keeps what it has worked out, since programs repeat themselves."""

    def __init__(self, layouts: Table) -> None:
        self.layouts = layouts
        self.names: dict[Any, tuple[str, bool, list[Any]]] = {}

    def name_of(self, func: Any) -> tuple[str, bool]:
        name, view, _ = self._facts(func)
        return name, view

    def _facts(self, func: Any) -> tuple[str, bool, list[Any]]:
        found = self.names.get(func)
        if found is None:
            schema = func._schema
            overload = func._overloadname
            name = schema.name.replace("::", ".") + ("" if overload == "default" else "." + overload)
            view = bool(schema.returns) and all(_aliases(result) for result in schema.returns)
            found = self.names[func] = (name, view, list(schema.arguments))
        return found

    def layout(self, tensor: Tensor) -> int:
        dtype = DTYPES.get(tensor.dtype) or str(tensor.dtype).replace("torch.", "")
        return self.layouts.place((dtype, tensor.device.type, tuple(tensor.shape), tuple(tensor.stride())))

    def arguments(self, func: Any, args: Any, kwargs: Any) -> tuple[Argument, ...]:
        """Arguments by name, without those that are not given or as the operator has them anyway."""
        found: list[Argument] = []
        declared = self._facts(func)[2]
        for place, argument in enumerate(declared):
            if place < len(args):
                value = args[place]
            elif argument.name in kwargs:
                value = kwargs[argument.name]
            else:
                continue
            described = None if value is None else self._value(value)
            if described is not None and not _default(argument, value):
                found.append((argument.name, *described))
        return tuple(found)

    def _value(self, value: Any) -> Optional[tuple[str, Any]]:
        if isinstance(value, Tensor):
            return "tensor", self.layout(value)
        if isinstance(value, bool):
            return "bool", value
        if isinstance(value, (int, torch.SymInt)):
            return "int", int(value)
        if isinstance(value, float):
            return number(value)
        if isinstance(value, (list, tuple)):
            return self._list(value)
        if isinstance(value, torch.dtype):
            return "dtype", DTYPES.get(value) or str(value).replace("torch.", "")
        group = group_name(value)
        if group is not None:
            return "text", group
        if isinstance(value, torch.ScriptObject):  # how a collective reduces: an address would be another one each time
            return None
        return "text", str(value).replace("torch.", "")

    def _list(self, values: Any) -> Optional[tuple[str, Any]]:
        if any(isinstance(value, Tensor) for value in values):
            return "tensors", tuple(self.layout(v) if isinstance(v, Tensor) else ABSENT for v in values)
        if all(isinstance(value, bool) for value in values) and values:
            return "bools", tuple(values)
        if all(isinstance(value, int) for value in values):
            return "ints", tuple(values)
        if all(isinstance(value, (int, float)) for value in values):
            return "floats", tuple(number(float(value))[1] for value in values)
        return "text", str(list(values))


def _aliases(result: Any) -> bool:
    return result.alias_info is not None and not result.alias_info.is_write


def _default(argument: Any, value: Any) -> bool:
    if isinstance(value, Tensor) or not argument.has_default_value():
        return False
    default = argument.default_value
    if isinstance(value, (list, tuple)):
        return isinstance(default, (list, tuple)) and list(default) == list(value) and not any(
            isinstance(item, Tensor) for item in value)
    return type(default) is type(value) and default == value
