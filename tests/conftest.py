import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread():
    """Two workers share two cores; and comparisons of replicas are made at one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(1234)
