"""The networks against the paper's appendix, and against plain torch."""

import pytest
import torch
from torch import nn

from aswd.nets.batch_norm import BatchNorm2d
from aswd.nets.dcgan import Features, Generator, Head
from aswd.nets.mlp import MLPGenerator


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def kinds(module):
    layers = [layer for layer in module.modules() if not list(layer.children())]
    names = {"Conv2d": "conv", "ConvTranspose2d": "transposed", "BatchNorm2d": "norm", "LeakyReLU": "leaky", "ReLU": "relu"}
    return [names.get(type(layer).__name__, type(layer).__name__) for layer in layers]


def test_features_and_head_are_the_papers():
    features, head = Features(), Head()
    assert kinds(features) == ["conv", "leaky", *["conv", "norm", "leaky"] * 2, "conv", "norm", "Tanh", "Flatten"]
    assert count(features) == 16 * (3 * 64 + 64 * 128 + 128 * 256 + 256 * 512) + 2 * (128 + 256 + 512)
    assert count(head) == 512 * 16
    h = features(torch.rand(2, 3, 64, 64))
    assert h.shape == (2, 8192)
    assert h.abs().max() < 1
    assert head(h).shape == (2,)
    assert all(layer.negative_slope == 0.2 for layer in features if isinstance(layer, nn.LeakyReLU))


@pytest.mark.parametrize(("latent_dim", "last_relu"), [(32, True), (100, False)])
def test_the_generator_is_the_papers_or_the_released_one(latent_dim, last_relu):
    generator = Generator(latent_dim, last_relu)
    blocks = ["transposed", "norm", "relu"] * 3 + ["transposed", "norm"] + ["relu"] * last_relu + ["transposed", "Tanh"]
    assert kinds(generator) == blocks
    convolutions = latent_dim * 512 + 512 * 256 + 256 * 128 + 128 * 64 + 64 * 3
    assert count(generator) == 16 * convolutions + 2 * (512 + 256 + 128 + 64)
    images = generator(torch.randn(2, latent_dim))
    assert images.shape == (2, 3, 64, 64)
    assert images.abs().max() < 1


def test_batch_norm_of_a_single_process_is_torchs():
    own, torchs = BatchNorm2d(5), nn.BatchNorm2d(5)
    torchs.load_state_dict(own.state_dict())
    x = torch.randn(4, 5, 3, 3)
    assert torch.equal(own(x), torchs(x))
    assert torch.equal(own.running_var, torchs.running_var)
    assert torch.equal(own.eval()(x), torchs.eval()(x))


def test_each_replica_of_the_perceptron_is_a_plain_one():
    stacked = MLPGenerator([torch.Generator().manual_seed(seed) for seed in (3, 4)], latent_dim=32, hidden=100, dim=784)
    noise = torch.randn(2, 6, 32)
    sizes = [32, 100, 200, 400, 784]
    for replica in range(2):
        layers = [nn.Linear(sizes[i], sizes[i + 1]) for i in range(4)]
        for layer, weight, bias in zip(layers, stacked.weights, stacked.biases, strict=True):
            assert weight[replica].abs().max() <= layer.in_features**-0.5
            assert weight[replica].std().item() == pytest.approx(layer.weight.std().item(), rel=0.05)
            layer.weight.data, layer.bias.data = weight[replica].data, bias[replica, 0].data
        plain = nn.Sequential(*(part for layer in layers for part in (layer, nn.ReLU())))
        torch.testing.assert_close(stacked(noise)[replica], plain(noise[replica]))
    alone = MLPGenerator([torch.Generator().manual_seed(4)], 32, 100, 784)
    assert torch.equal(alone.weights[2][0], stacked.weights[2][1])
    assert count(alone) == 32 * 100 + 100 + 100 * 200 + 200 + 200 * 400 + 400 + 400 * 784 + 784


def test_the_perceptron_can_end_in_a_sigmoid():
    images = MLPGenerator([torch.Generator()], 3, 4, 5, "sigmoid")(torch.randn(1, 100, 3))
    assert 0 < images.min() < images.max() < 1
