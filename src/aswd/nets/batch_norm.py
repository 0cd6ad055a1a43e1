"""Batch normalisation over all processes that share a batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from aswd.nets.parallel import total, world_size


class BatchNorm2d(nn.BatchNorm2d):
    r"""``nn.BatchNorm2d``, with mean and variance over the batches of all processes in training mode.

    torch has that for GPUs only: ``SyncBatchNorm`` does not run on a CPU. With a single process, and in evaluation mode, this is
    ``nn.BatchNorm2d``; the ``state_dict`` is always the same.
    """

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or world_size() == 1:
            return super().forward(x)
        values, axes = x.to(self.running_mean.dtype), (0, 2, 3)
        count = world_size() * x.numel() // x.shape[1]
        mean = total(values.sum(axes)) / count
        centred = values - mean[:, None, None]
        variance = total(centred.square().sum(axes)) / count
        with torch.no_grad():
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        scale = self.weight * (variance + self.eps).rsqrt()
        return (centred * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)
