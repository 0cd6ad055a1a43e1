"""The autoencoder's networks: shapes, numbers of parameters, and what they compute, written out."""

import pytest
import torch
from torch.nn import functional

from aswd.nets.autoencoder import Decoder, Encoder


def count(network):
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize("size", [4, 8, 12, 28, 32, 64])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_codes_and_images_have_their_shapes(size, dim):
    images = torch.rand(3, 1, size, size)
    code = Encoder(size, dim)(images)
    assert code.shape == (3, dim)
    decoded = Decoder(size, dim)(code)
    assert decoded.shape == images.shape
    assert ((decoded > 0) & (decoded < 1)).all()


def test_as_many_parameters_as_the_layers_have():
    convolution = lambda before, after: 9 * before * after + after  # noqa: E731
    blocks = [(1, 16), (16, 16), (16, 32), (32, 32), (32, 64), (64, 64)]
    assert count(Encoder()) == sum(convolution(*pair) for pair in blocks) + 1024 * 128 + 128 + 128 * 2 + 2 == 203_250
    blocks = [(64, 64)] * 4 + [(64, 32), (32, 32), (32, 1)]
    assert count(Decoder()) == 2 * 128 + 128 + 128 * 1024 + 1024 + sum(convolution(*pair) for pair in blocks) == 308_193


def test_the_encoder_written_out():
    torch.manual_seed(0)
    encoder, x = Encoder(), torch.randn(4, 1, 28, 28)
    layers = [module for module in encoder.modules() if isinstance(module, torch.nn.Conv2d | torch.nn.Linear)]
    convolutions, (hidden, last) = layers[:6], layers[6:]
    y = x
    for number, layer in enumerate(convolutions):
        y = functional.conv2d(y, layer.weight.contiguous(), layer.bias, padding=1)
        y = torch.where(y > 0, y, 0.2 * y)
        if number % 2:
            # From 7 to 4 pixels a side the maps are padded by zeros, which count in the mean.
            y = functional.pad(y, (1, 1, 1, 1)) if y.shape[-1] == 7 else y
            side = y.shape[-1] // 2
            y = y[..., : 2 * side, : 2 * side].reshape(*y.shape[:2], side, 2, side, 2).mean((3, 5))
    y = (y.flatten(1) @ hidden.weight.T + hidden.bias).clamp_min(0) @ last.weight.T + last.bias
    torch.testing.assert_close(encoder(x), y, rtol=1e-4, atol=1e-5)


def test_the_decoder_written_out():
    torch.manual_seed(0)
    decoder, z = Decoder(), torch.randn(4, 2)
    layers = [module for module in decoder.modules() if isinstance(module, torch.nn.Conv2d | torch.nn.Linear)]
    (first, second), convolutions = layers[:2], layers[2:]
    y = ((z @ first.weight.T + first.bias) @ second.weight.T + second.bias).clamp_min(0).reshape(4, 64, 4, 4)
    for number, layer in enumerate(convolutions):
        if number in (0, 2, 4):
            y = y.repeat_interleave(2, -1).repeat_interleave(2, -2)
        y = functional.conv2d(y, layer.weight.contiguous(), layer.bias, padding=0 if number == 2 else 1)
        y = y if number == 6 else torch.where(y > 0, y, 0.2 * y)
    torch.testing.assert_close(decoder.logits(z), y, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(decoder(z), 1 / (1 + torch.exp(-y)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("network", [Encoder, Decoder])
@pytest.mark.parametrize("size", [0, 2, 27, 30])
def test_a_size_that_cannot_be_halved_twice_is_refused(network, size):
    with pytest.raises(ValueError, match=f"size must be a multiple of 4 for the autoencoder; got {size}"):
        network(size)
