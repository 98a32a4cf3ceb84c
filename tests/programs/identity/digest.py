"""One line that tells two runs apart by a single bit of any parameter, buffer, gradient, state or generator."""

import hashlib
import random

import numpy
import torch

random.seed(0)  # what a program does not seed differs between any two runs
numpy.random.seed(0)


def show(*things):
    """Prints the digest of modules, optimizers, scalers and tensors, and of all generators."""
    sha = hashlib.sha256()
    for thing in things:
        feed(sha, thing)
    for state in (torch.get_rng_state(), numpy.random.get_state()[1], random.getstate()):
        feed(sha, state)
    print("digest", sha.hexdigest())


def feed(sha, value):
    if isinstance(value, torch.nn.Module):
        for name, tensor in [*value.named_parameters(), *value.named_buffers()]:
            feed(sha, (name, tensor, tensor.grad))
        for name, module in value.named_modules():
            plain = {k: v for k, v in vars(module).items() if isinstance(v, (bool, int, float, str, list, tuple))}
            feed(sha, (name, plain))
    elif isinstance(value, torch.Tensor):
        sha.update(f"{value.dtype}{tuple(value.shape)}".encode())
        sha.update(
            value.detach().contiguous().view(torch.uint8).numpy().tobytes()
            if value.dim()
            else str(value.item()).encode()
        )
    elif hasattr(value, "state_dict"):
        feed(sha, value.state_dict())
    elif isinstance(value, dict):
        for key in value:
            feed(sha, (str(key), value[key]))
    elif isinstance(value, (list, tuple)):
        for item in value:
            feed(sha, item)
    elif isinstance(value, numpy.ndarray):
        sha.update(value.tobytes())
    elif isinstance(value, (bool, int, float, str, type(None))):
        sha.update(repr(value).encode())
