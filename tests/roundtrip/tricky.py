"""Tensors made to trip one way or another."""

from __future__ import annotations

import warnings

import torch


def tricky() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sparse CSR is in beta, quantized tensors are old
        sparse_csr = torch.eye(3).to_sparse_csr()
        quantized = torch.quantize_per_tensor(random(5), 0.1, 3, torch.quint8)
    return {
        "plain": random(3, 4),
        "nan payload": torch.tensor([0x7FC00001, 0x3F800000], dtype=torch.int32).view(torch.float32),
        "negative zero": torch.tensor([0.0, -0.0, 1.0]),
        "expanded": random(1, 4).expand(3, 4),
        "transposed": random(3, 4).t(),
        "channels_last": random(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0, 3),
        "bfloat16": random(7).bfloat16(),
        "float8": random(7).to(torch.float8_e4m3fn),
        "conj": torch.complex(random(3), random(3)).conj(),
        "sparse": torch.eye(3).to_sparse(),
        "sparse_csr": sparse_csr,
        "quantized": quantized,
        "parameter": torch.nn.Parameter(random(2)),
        "neg": torch.complex(random(3), random(3)).conj().imag,
        "gradient": torch.arange(3.0, requires_grad=True),
        "non-leaf": random(3).requires_grad_() * 2,
        "view": torch.arange(1000.0)[10:20],
        "int64": torch.arange(5) + 2**62,
        "bool": torch.tensor([True, False]),
    }
