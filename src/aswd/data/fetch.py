"""Preparing a data set before any run, and describing it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from aswd.data.images import SPLITS, ImageData
from aswd.data.registry import data_config, data_module
from aswd.utils.errors import UserError
from aswd.utils.fields import options_of
from aswd.utils.registry import call_with


def prepare(config: Any) -> Any:
    """The data module of ``config``, with its data fetched, checked and decoded.

    Raises:
        UserError: they cannot be fetched or used.
    """
    data = call_with(data_module(config.name), options_of(config))
    try:
        data.prepare_data()
    except OSError as error:
        raise UserError(f"the data of {config.name} cannot be read or written: {error}") from None
    return data


def describe(name: str, root: str | None = None) -> str:
    """Download or check the data set ``name``; its folder, the number and size of images, and the class counts.

    Raises:
        UserError: no such data set, or it cannot be downloaded or used.
    """
    schema = data_config(name)
    given = {} if root is None else {"root": root}
    if root is not None and "root" not in {f.name for f in fields(schema)}:
        raise UserError(f"--root must be left out for {name}, which is computed and not read")
    try:
        data = prepare(schema(name=name, **given))
    except UserError as error:
        raise UserError(str(error).replace("data.root=DIR", "--root DIR").replace("data.root", "--root")) from None
    except ValueError as error:  # options that a run must give, such as the files of data=points
        raise UserError(f"{name} cannot be prepared without its options: data.{error}") from None
    if not isinstance(data, ImageData):
        return f"{name}: {getattr(data, 'location', 'points, computed and not read')}"
    return "\n".join([f"{name}: {data.location}", *(_split(data, split) for split in SPLITS)])


def _split(data: ImageData, split: str) -> str:
    images, labels = data.images(split), data.labels(split)
    text = f"  {split}: {len(images)} images of {' x '.join(map(str, images.shape[1:]))} (channels x height x width), in bytes"
    if labels is None:
        return f"{text}; no labels"
    return f"{text}; of the classes 0 to {int(labels.max())}: {', '.join(map(str, labels.bincount().tolist()))}"
