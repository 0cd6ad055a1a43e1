"""What code from outside is: the digest of its source files, and its version.

Edited code is another run: the digest is part of a run's key and of its record.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

# aswd, its dependencies and the standard library: no plug-ins. A record keeps the versions of aswd and of these libraries anyway.
_NOT_PLUGINS = {
    *("aswd", "torch", "torchvision", "torchmetrics", "torch_fidelity", "pytorch_lightning", "lightning", "lightning_fabric"),
    *("numpy", "scipy", "ot", "sklearn", "skimage", "pandas", "PIL", "matplotlib", "hydra", "omegaconf", "wandb", "tensorboard", "tqdm"),
    *sys.stdlib_module_names,
}
_CODE = (".py", ".so", ".pyd")
_INSTALLED = {"site-packages", "dist-packages"}  # folders

_versions: dict[str, str | None] = {}  # by top-level package
_digests: dict[Path, str] = {}  # by source file, at the time of loading: what runs, also if the file is edited later


def record_version(package: str, version: str) -> None:
    """Note the version of the distribution that a top-level package was loaded from."""
    _versions[package] = version


def record_source(path: Path, source: bytes) -> None:
    """Note the source that a file was executed from."""
    _digests[path] = hashlib.sha256(source).hexdigest()
    _source_files.cache_clear()


def has_source(path: Path, source: bytes) -> bool:
    """Whether a file was executed from this source, as far as that is known."""
    return _digests.get(path) in (None, hashlib.sha256(source).hexdigest())


def plugin_info(*objects: Any) -> dict[str, str | None] | None:
    """What the code behind some objects is, for a run's key and record.

    The source files are, for every module that defines one of the objects or a base class of it:

    - in a package: all ``.py`` files and compiled modules in the folder of the top-level package;
    - else the module's file, and the files beside it that it imports, and those that they import.

    Code of aswd, of its dependencies and of the standard library counts as none. The digest does not depend on where the files are, and
    is that of the files as they were when the plug-in was loaded (or, of modules loaded otherwise, when their digest was first computed).

    Args:
        objects: classes, functions, instances, modules or names of modules.

    Returns:
        ``{"module": of the first object from outside, "version": of its distribution or None, "digest": SHA-256 or None}``, with a
        digest of ``None`` where there are no source files, as in an interactive session; ``None`` if nothing comes from outside.
    """
    modules = list(dict.fromkeys(name for thing in objects for name in _modules_of(thing) if name.partition(".")[0] not in _NOT_PLUGINS))
    if not modules:
        return None
    lines = sorted({f"{name} {_digest(path)}" for module in modules for name, path in _source_files(module).items()})
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else _text_digest(objects)
    return {"module": modules[0], "version": _version(modules[0].partition(".")[0]), "digest": digest}


def source_digest(*objects: Any) -> str | None:
    """SHA-256 of the source files behind some objects, as :func:`plugin_info` has it; ``None`` for code of aswd or without a source."""
    info = plugin_info(*objects)
    return None if info is None else info["digest"]


def _modules_of(thing: Any) -> Iterator[str]:
    """Names of the modules that define an object and the classes it is made of."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    if isinstance(thing, str):
        yield thing
    elif isinstance(thing, ModuleType):
        yield thing.__name__
    elif isinstance(thing, type):
        yield from (base.__module__ for base in thing.__mro__)
    elif callable(thing) and hasattr(thing, "__qualname__"):
        yield thing.__module__ or "builtins"
    else:
        yield from _modules_of(type(thing))


@functools.cache
def _source_files(module: str) -> dict[str, Path]:
    """Source files of a module, or of the package that it belongs to, by their names relative to the folder of that."""
    path = _file_of(module)
    package = module if path is not None and path.name == "__init__.py" else module.rpartition(".")[0]
    top = None
    while package and (init := _file_of(package)) is not None:  # not in a namespace package, which has no file
        package, top = package.rpartition(".")[0], init.parent
    if top is not None:
        return {str(file.relative_to(top.parent)): file for file in _code_files(top)}
    files: dict[str, Path] = {}
    pending = [path] if path is not None else []
    while pending:
        file = pending.pop()
        name = str(file.relative_to(path.parent))
        if name not in files:
            files[name] = file
            pending += _imports_beside(file, path.parent)
    return files


def _imports_beside(file: Path, folder: Path) -> Iterator[Path]:
    """Files in ``folder`` that a file imports: modules, and all of a package."""
    if file.suffix != ".py" or folder.name in _INSTALLED:
        return
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):
        return
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    for name in sorted({name.partition(".")[0] for name in names} - _NOT_PLUGINS):
        if (folder / f"{name}.py").is_file():
            yield folder / f"{name}.py"
        elif (folder / name / "__init__.py").is_file():
            yield from _code_files(folder / name)


def _code_files(folder: Path) -> Iterator[Path]:
    """Code in a folder and below, but for hidden folders and virtual environments."""
    for where, folders, names in os.walk(folder):
        skipped = [name for name in folders if name.startswith((".", "__pycache__")) or Path(where, name, "pyvenv.cfg").exists()]
        folders[:] = sorted(set(folders) - set(skipped))
        yield from (Path(where, name) for name in sorted(names) if name.endswith(_CODE))


def _file_of(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    if loaded is not None:
        origin = getattr(loaded, "__file__", None)
    else:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):
            spec = None
        origin = spec.origin if spec is not None and spec.has_location else None
    path = Path(origin).resolve() if origin else None
    return path if path is not None and path.is_file() else None


def _digest(path: Path) -> str:
    if path not in _digests:
        _digests[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _digests[path]


def _text_digest(objects: Iterable[Any]) -> str | None:
    """Digest of the source text of objects without a file, where the session keeps it, as IPython does."""
    try:
        text = "\n".join(inspect.getsource(thing) for thing in objects if isinstance(thing, type) or inspect.isroutine(thing))
    except (OSError, TypeError):
        return None
    return hashlib.sha256(text.encode()).hexdigest() if text else None


def _version(package: str) -> str | None:
    """Version of the distribution that a package was installed from, else its ``__version__``."""
    if package not in _versions:
        path = _file_of(package)  # a folder of the user's own may have the name of an installed package
        installed = path is not None and not _INSTALLED.isdisjoint(path.parts)
        distributions = packages_distributions().get(package, ()) if installed else ()
        _versions[package] = version(distributions[0]) if distributions else getattr(sys.modules.get(package), "__version__", None)
    return _versions[package]
