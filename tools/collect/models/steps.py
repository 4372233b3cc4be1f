"""Prepares the step of a case: a model, its inputs and what one call runs."""

import gc

import torch

from . import inference, training
from .marks import operator, phase
from .plan import CARD_BYTES


def free():
    """Gives all memory back, the matrix library's workspace too."""
    gc.collect()
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()


class Server:
    """An inference model and a cache that all its cases share."""

    def __init__(self, shape, cases):
        self.shape = shape
        self.weights = inference.Weights(shape)
        self.weight_bytes = torch.cuda.memory_allocated()
        most = max(shape.cache_bytes(case.batch, case.length) for case in cases)
        assert self.weight_bytes + most < CARD_BYTES * 1.05, "does not fit"
        self.cache = torch.empty(most // 2, dtype=torch.bfloat16, device="cuda").normal_()
        self.models = {ops: maker(self.weights) for ops, maker in inference.MODELS.items()}
        self.compiled = {}

    def step(self, case):
        inference.allow_attention(case.attention)
        request = inference.Request(self.shape, case.mode, case.batch, case.length, self.cache)
        model = self.models[case.ops]
        if case.engine.startswith("compile"):
            request.own_cache()
            if case.mode not in self.compiled:
                torch._dynamo.reset()
                self.compiled[case.mode] = torch.compile(model, dynamic=False,
                                                            fullgraph=True)
            model = self.compiled[case.mode]
        return lambda: model(request)


class Trainer:
    """A model, its optimizer and one step in three phases."""

    def __init__(self, shape, case):
        inference.allow_attention("flash")
        self.case = case
        self.memory = {"base_bytes": torch.cuda.memory_allocated()}
        self.model = training.build(shape, case)
        self.memory["weights_bytes"] = torch.cuda.memory_allocated() - self.memory["base_bytes"]
        self.optimizer = None
        if case.mode == "train":
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)
        self.ids = torch.randint(0, shape.vocab, (case.batch, case.length), device="cuda")
        self.targets = torch.randint(0, shape.vocab, (case.batch, case.length), device="cuda")
        self.call = self.model
        if case.engine == "compile":
            torch._dynamo.reset()
            self.call = torch.compile(self.model, dynamic=False, fullgraph=True)

    def forward(self):
        with phase("forward"), training.precision(self.case):
            return self.call(self.ids, self.targets)

    def step(self, after=lambda name: None):
        """One step; `after` is told when the host has issued each phase."""
        if self.case.mode == "forward":
            with torch.no_grad():
                self.forward()
            after("forward")
            return
        loss = self.forward()
        after("forward")
        with phase("backward"):
            loss.backward()
        after("backward")
        if self.optimizer is not None:
            with phase("optimizer"), operator("optimizer"):
                self.optimizer.step()
            after("optimizer")
        self.drop_gradients()

    def drop_gradients(self):
        for parameter in self.model.parameters():
            parameter.grad = None

    def sizes(self):
        """Bytes of parameters, gradients and optimizer state, counted from the tensors."""
        parameters = list(self.model.parameters())
        found = {"parameter_count": sum(p.numel() for p in parameters),
                 "parameter_bytes": sum(p.numel() * p.element_size() for p in parameters)}
        if self.optimizer is not None:
            tensors = [value for state in self.optimizer.state.values()
                       for value in state.values() if torch.is_tensor(value)]
            found["optimizer_bytes"] = sum(t.numel() * t.element_size() for t in tensors)
        return found

    def measure_memory(self):
        """The allocator's view of one step, phase by phase; the host's order is what counts."""
        torch.cuda.synchronize()
        self.memory["resting_bytes"] = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        peaks = []

        def note(name):
            peaks.append(torch.cuda.max_memory_allocated())
            self.memory[f"{name}_peak_bytes"] = peaks[-1]
            self.memory[f"after_{name}_bytes"] = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()

        self.step(note)
        torch.cuda.synchronize()
        self.memory["peak_bytes"] = max(peaks)
        self.memory["reserved_bytes"] = torch.cuda.memory_reserved()
        return {**self.memory, **self.sizes()}
