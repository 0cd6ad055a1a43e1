"""Let torchvision be imported beside a torch that was built without CUDA.

The torchvision wheel of PyPI is linked against CUDA. Beside a CPU build of torch its compiled operators do not load, and the import ends
in "operator torchvision::nms does not exist"; torchmetrics, torch-fidelity and Lightning fall with it. All that is missing is that the
operators are known by name. A finder at the head of ``sys.meta_path`` waits for the first import of torchvision, lets it run, and only if
it fails in just this way declares the two operators and lets it run again. Waiting costs nothing; importing torchvision takes seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_libraries = []  # a library that is collected takes its declarations with it


class _CuringLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        try:
            self._loader.exec_module(module)
        except RuntimeError as error:
            if "torchvision::nms does not exist" not in str(error):
                raise
            for name in [name for name in sys.modules if name.startswith("torchvision.")]:
                del sys.modules[name]
            import torch

            library = torch.library.Library("torchvision", "FRAGMENT")
            for schema in _SCHEMAS:
                library.define(schema)
            _libraries.append(library)
            self._loader.exec_module(module)

    def __getattr__(self, name: str):  # resources and source of the package are found as before
        return getattr(self._loader, name)


class _CuringFinder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != "torchvision":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _CuringLoader(spec.loader)
        return spec


def install() -> None:
    """Put the finder in place, once, unless torchvision is there already."""
    if "torchvision" not in sys.modules and not any(isinstance(finder, _CuringFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _CuringFinder())
