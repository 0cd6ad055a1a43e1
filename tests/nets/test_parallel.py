"""Two real processes that share a batch against one, to the last digits of float64."""

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing

from aswd.distances import build
from aswd.nets.dcgan import Features, Generator, Head
from aswd.nets.parallel import average_gradients, gather, own_part


def gradients_and_statistics():
    """Of a discriminator's loss and of a distance between gathered features, as the GAN takes them."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    features, head, generator = Features(2).double(), Head(2).double(), Generator(5, True, 2).double()
    real, noise = torch.rand(8, 3, 64, 64).double(), torch.randn(8, 5).double()
    fake = generator(own_part(noise))
    loss = torch.nn.functional.softplus(head(features(own_part(real)))).mean() + head(features(fake.detach())).square().mean()
    loss.backward()
    average_gradients([*features.parameters(), *head.parameters()])
    distance = build("aswd", num_projections=20, seed=1)
    value = distance(gather(features(own_part(real)).detach()), gather(features(fake)))
    features.requires_grad_(False)
    value.backward(inputs=list(generator.parameters()))
    average_gradients(generator.parameters())
    kept = {name: p.grad for net in (features, head, generator) for name, p in net.named_parameters(prefix=type(net).__name__)}
    kept |= {f"state {name}": value for name, value in {**features.state_dict(), **distance.learned.state_dict()}.items()}
    kept = {name: value.detach().clone() for name, value in kept.items() if isinstance(value, torch.Tensor)}
    return {**kept, "value": value.detach()}


def work(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    torch.save(gradients_and_statistics(), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_processes_have_the_gradients_and_statistics_of_one(tmp_path):
    whole = gradients_and_statistics()
    assert len(whole) > 20
    torch.multiprocessing.spawn(work, (str(tmp_path),), nprocs=2)
    for rank in range(2):
        part = torch.load(tmp_path / f"{rank}.pt")
        for name, value in whole.items():
            torch.testing.assert_close(part[name], value, rtol=1e-6, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}")
