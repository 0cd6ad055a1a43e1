import os
import shutil
from contextlib import contextmanager

import pytest
import torch

_LARGE = 8 * 2**30

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or every process that a test starts compiles all of aswd again
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > _LARGE:
    os.environ["PYTEST_DEBUG_TEMPROOT"] = "/dev/shm"  # in memory: records are synced to the disk file by file, as they should be


@pytest.fixture(autouse=True)
def _one_thread():
    """Two workers share two cores; and comparisons of replicas are made at one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(1234)


@contextmanager
def own_names():
    """Names that are registered meanwhile are forgotten."""
    from aswd.config.targets import DISTANCE_TARGETS
    from aswd.data.registry import DATA
    from aswd.distances import registry
    from aswd.launchers.registry import LAUNCHERS
    from aswd.tasks.registry import TASKS

    names = [registry._registry, DISTANCE_TARGETS, DATA._entries, LAUNCHERS._entries, TASKS._entries]
    before = [dict(entries) for entries in names]
    yield
    for entries, content in zip(names, before, strict=True):
        entries.clear()
        entries.update(content)


@pytest.fixture(autouse=True)
def _own_names():
    """What a test registers is known to no other."""
    with own_names():
        yield


@pytest.fixture
def without_wandb_key(monkeypatch, tmp_path):
    """As on a machine that has never heard of W&B; keys that a test sets are forgotten by wandb, too."""
    for name in ("WANDB_API_KEY", "WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_MODE", "WANDB_BASE_URL", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    yield
    if "WANDB_API_KEY" in os.environ:
        import wandb

        wandb.teardown()
