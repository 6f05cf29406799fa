# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""The same model in float64: what Hugging Face's code computes when nothing in it is rounded to float32.

transformers casts to float32 inside norms, gates, softmax and rotary embeddings. Inside `exact()` those casts mean
float64. The result is checked elsewhere: chunked prefill and step by step must agree to 1e-9.
"""
import contextlib
import copy
import sys

import torch


class _Torch:
    """`torch` as a modeling file sees it, with float32 meaning float64."""

    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


def modeling_module(model):
    return sys.modules[type(model).__module__]


@contextlib.contextmanager
def exact(model):
    module = modeling_module(model)
    to_float = torch.Tensor.float
    module.torch = _Torch()
    torch.Tensor.float = lambda self, *args, **kwargs: self.double()
    try:
        yield
    finally:
        module.torch = torch
        torch.Tensor.float = to_float


def double_copy(model):
    """A float64 copy, rotary frequencies recomputed in float64, experts by the eager implementation."""
    twin = copy.deepcopy(model).double().eval()
    twin.config._experts_implementation = "eager"
    rope = twin.model.rotary_emb
    parameters = twin.config.rope_parameters
    dim = int(twin.config.head_dim * parameters.get("partial_rotary_factor", 0.25))
    steps = torch.arange(0, dim, 2, dtype=torch.float64)
    rope.inv_freq = 1.0 / (torch.tensor(parameters["rope_theta"], dtype=torch.float64) ** (steps / dim))
    return twin
