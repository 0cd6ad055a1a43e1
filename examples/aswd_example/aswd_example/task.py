"""The sliced Wasserstein flow with momentum in place of Adam."""

from dataclasses import dataclass

import torch

from aswd.tasks.configs import FlowConfig
from aswd.tasks.flow import Flow


@dataclass
class MomentumFlowConfig(FlowConfig):
    """Options of the flow, with a learning rate for SGD.

    Args:
        lr: learning rate; the gradient of a particle is of the order of one over their number.
        momentum: of SGD.
    """

    name: str = "momentum_flow"
    lr: float = 0.3
    momentum: float = 0.9


class MomentumFlow(Flow):
    """Particles that descend a distance to a target by SGD with momentum."""

    config_class = MomentumFlowConfig

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """SGD with momentum on the particles."""
        return torch.optim.SGD([self.particles], lr=self.config.lr, momentum=self.config.momentum)
