"""Batches as a function of their number, and data modules that resume where a checkpoint was written."""

import aswd.tasks  # isort: skip  # noqa: F401  before Lightning: cures a torchvision that is linked to CUDA
import pytest
import torch
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint

from aswd.data.images import Synthetic
from aswd.data.modules import StepLoader
from aswd.data.points import ToyTargets

pytestmark = pytest.mark.filterwarnings("ignore")
QUIET = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}


def test_each_pass_ends_with_its_epoch_and_the_next_one_continues():
    loader = StepLoader(lambda number: number, length=4, start=6)
    assert len(loader) == 4
    assert [list(loader) for _ in range(3)] == [[6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]


def test_without_a_length_there_is_no_end():
    loader = StepLoader(lambda number: number, start=3)
    with pytest.raises(TypeError, match="no end"):
        len(loader)
    taken = iter(loader)
    assert [next(taken) for _ in range(5)] == [3, 4, 5, 6, 7]


class Sums(LightningModule):
    """Notes the sum of every batch that it is handed."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen, self.evaluated = [], []

    def training_step(self, batch, batch_idx):
        self.seen.append(batch.long().flatten(1).sum(1).tolist())
        return self.weight * 0

    def validation_step(self, batch, batch_idx):
        self.evaluated.append(len(batch[0]))

    def configure_optimizers(self):
        return torch.optim.SGD([self.weight], 0.1)


def images(seeds=(0, 1)):
    return Synthetic(num_train=50, num_test=10, size=8, channels=1, batch_size=16, seeds=seeds)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_a_fit_that_resumes_sees_the_batches_that_it_would_have_seen(every, tmp_path):
    """Three batches per epoch: checkpoints within an epoch, and at its end."""
    whole = Sums()
    keep = ModelCheckpoint(tmp_path, filename="{step}", every_n_train_steps=every, save_top_k=-1)
    first = Trainer(**QUIET, max_steps=10, callbacks=[keep], limit_val_batches=0)
    first.fit(whole, datamodule=images())
    assert len(whole.seen) == 10
    assert len({tuple(sums) for sums in whole.seen}) == 10
    for step in range(every, 10, every):
        rest = Sums()
        trainer = Trainer(**QUIET, max_steps=10, enable_checkpointing=False, limit_val_batches=0)
        trainer.fit(rest, datamodule=images(), ckpt_path=tmp_path / f"step={step}.ckpt")
        assert rest.seen == whole.seen[step:], step
        assert trainer.current_epoch == first.current_epoch, step


def test_every_seed_has_an_order_of_its_own_and_every_evaluation_the_whole_test_split():
    both, one = Sums(), Sums()
    Trainer(**QUIET, max_epochs=2, enable_checkpointing=False, num_sanity_val_steps=0).fit(both, datamodule=images())
    Trainer(**QUIET, max_epochs=2, enable_checkpointing=False, num_sanity_val_steps=0).fit(one, datamodule=images(seeds=(1,)))
    assert [sums[1:] for sums in both.seen] == one.seen
    assert all(first != second for first, second in both.seen)
    assert both.evaluated == [10, 10]


def test_a_fixed_batch_is_copied_to_the_device_once():
    data = ToyTargets(name="knot", num_samples=20)
    batch = next(iter(data.train_dataloader()))
    first = data.transfer_batch_to_device(batch, torch.device("meta"), 0)
    assert first.device.type == "meta"
    assert data.transfer_batch_to_device(next(iter(data.val_dataloader())), torch.device("meta"), 0) is first
    assert data.transfer_batch_to_device(torch.ones(3), torch.device("meta"), 0).shape == (3,)
