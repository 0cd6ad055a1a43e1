"""``aswd data``: have the data of a name ready, and say what there is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from aswd.data.images import SPLITS, ImageData
from aswd.data.registry import DATA, data_config, data_module
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError
from aswd.utils.fields import options_of

FEATURES = "mnist-features"  # the network of mnist_frechet, which is made from data and kept beside them


def prepare(config: Any) -> Any:
    """The data module of ``config``, with its data fetched, checked and decoded.

    Raises:
        UserError: they cannot be fetched or used.
    """
    data = data_module(config.name)(**options_of(config))
    try:
        data.prepare_data()
    except OSError as error:
        raise UserError(f"the data of {config.name} cannot be read or written: {error}") from None
    return data


def describe(name: str, root: str | None = None) -> str:
    """Fetch or check the data ``name``; where they were found, how many images of which size, and how many of each class.

    ``mnist-features`` is the network of ``mnist_frechet``, trained if it is not there.

    Raises:
        UserError: no such data, or they cannot be had.
    """
    if name == FEATURES:
        return _features(root or "data")
    if name not in DATA:
        raise UserError(f"no data are called {name!r}: {nearest(name, [*DATA, FEATURES])}")
    schema = data_config(name)
    given = {} if root is None else {"root": root}
    if root is not None and "root" not in {f.name for f in fields(schema)}:
        raise UserError(f"--root must be left out for {name}, which is computed and not read")
    try:
        data = prepare(schema(name=name, **given))
    except UserError as error:
        raise UserError(str(error).replace("data.root=DIR", "--root DIR").replace("data.root", "--root")) from None
    if not isinstance(data, ImageData):
        return f"{name}: points, computed and not read"
    return "\n".join([f"{name}: {data.place}", *(_split(data, split) for split in SPLITS)])


def _features(root: str) -> str:
    from aswd.metrics.mnist_features import features_path, mnist_features

    try:
        found = mnist_features(root)
    except OSError as error:
        raise UserError(f"the network of mnist_frechet cannot be read or written: {error}") from None
    about = f"trained in {found.seconds:.0f} s, right on {found.accuracy:.2%} of the test images, weights {found.weights}"
    return f"{FEATURES}: {features_path(root)}\n  the network of mnist_frechet, {found.network}: {about}"


def _split(data: ImageData, split: str) -> str:
    images, labels = data.images(split), data.labels(split)
    text = f"  {split}: {len(images)} images of {' x '.join(map(str, images.shape[1:]))} (channels x height x width), in bytes"
    if labels is None:
        return f"{text}; no labels"
    return f"{text}; of the classes 0 to {int(labels.max())}: {', '.join(map(str, labels.bincount().tolist()))}"
