"""Plug-ins: code of other people that aswd loads, and what a record says about it.

A plug-in is a module that registers distances (or anything else that has a registry) when it is imported. It is loaded

- from an installed package that names it under the entry point group ``aswd.plugins`` (or ``aswd.distances``, the older name), or
- from a file or module that the user gives: ``load_plugins(["my_distance.py", "package.module"])``.

The identity of a plug-in is the digest of its source files, see :func:`plugin_info`.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points, packages_distributions, version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from aswd.utils.errors import UserError

GROUPS = ("aswd.plugins", "aswd.distances")
# aswd, its dependencies and the standard library: no plug-ins. A record keeps the versions of aswd and of these libraries anyway.
_NOT_PLUGINS = {
    *("aswd", "torch", "torchvision", "torchmetrics", "torch_fidelity", "pytorch_lightning", "lightning", "lightning_fabric"),
    *("numpy", "scipy", "ot", "sklearn", "skimage", "pandas", "PIL", "matplotlib", "hydra", "omegaconf", "wandb", "tensorboard", "tqdm"),
    *sys.stdlib_module_names,
}
_CODE = (".py", ".so", ".pyd")
_INSTALLED = {"site-packages", "dist-packages"}  # folders

_entry_points_loaded = False
_packages: set[str] = set()  # top-level modules of the plug-ins that were loaded
_versions: dict[str, str | None] = {}  # top-level package -> version, of the packages that entry points belong to
_digests: dict[Path, str] = {}  # source file -> digest at the time of loading: what runs, also if the file is edited later


def load_entry_points() -> None:
    """Import the plug-ins of installed packages, once per process.

    One that cannot be imported is named in one sentence on stderr; the others are loaded all the same.
    """
    global _entry_points_loaded
    if _entry_points_loaded:
        return
    _entry_points_loaded = True  # first: a plug-in may ask for the list of distances while it is imported
    for entry in (entry for group in GROUPS for entry in entry_points(group=group)):
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            package = f" of the package {entry.dist.name}" if entry.dist else ""
            reason = f"{type(error).__name__}: {_first_line(error)}"
            print(f"aswd: the plug-in {entry.value!r}{package} could not be loaded and is left out: {reason}", file=sys.stderr)
        else:
            package = entry.module.partition(".")[0]
            if entry.dist:
                _versions[package] = entry.dist.version
            _packages.add(package)
            plugin_info(entry.module)


def load_plugins(plugins: Iterable[str]) -> list[ModuleType]:
    """Import plug-ins of the user's own.

    The working directory and the folder of a file are importable afterwards. A file is imported under its plain name, so that
    ``my_file.MyClass`` names the same module; or, where another module has that name, under one made of it and a hash of the path.
    Loading a file twice is harmless: if it has changed in between it is executed again, else nothing happens.

    Args:
        plugins: paths of Python files (relative ones: to the working directory), or names of modules.

    Returns:
        The modules.

    Raises:
        UserError: there is no such file or module, or it fails; names the file, the exception and the line.
    """
    return [_load(plugin) for plugin in plugins]


def resolve_plugin(plugin: str) -> str:
    """The absolute path of a plug-in's file, or the name of its module: loads the same plug-in from any working directory.

    Raises:
        UserError: there is no such file.
    """
    if not (plugin.endswith(".py") or os.sep in plugin):
        return plugin
    path = Path(plugin).expanduser().resolve()
    if not path.is_file():
        raise UserError(f"plugins must be Python files or names of modules; got {plugin!r}, and there is no such file")
    return str(path)


def make_working_directory_importable() -> None:
    """Append the working directory to ``sys.path``."""
    _make_importable(os.getcwd())


def _make_importable(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that it hides no installed package
    invalidate_caches()  # of folders: a file may be new


def config_dirs() -> list[Path]:
    """Folders ``configs/`` in the packages that plug-ins were loaded from, for Hydra's search path."""
    load_entry_points()
    folders = (Path(folder, "configs") for name in sorted(_packages) for folder in getattr(sys.modules[name], "__path__", ()))
    return [folder for folder in folders if folder.is_dir()]


def _load(plugin: str) -> ModuleType:
    make_working_directory_importable()
    target = resolve_plugin(plugin)
    try:
        module = _load_file(Path(target)) if target.endswith(".py") or os.sep in target else import_module(target)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{target}.".startswith(f"{error.name}."):
            hint = f": for a file write plugins={plugin}.py" if Path(f"{plugin}.py").is_file() else ""
            raise UserError(f"plugins must be Python files or names of modules; there is no module {plugin!r}{hint}") from None
        where = _line_of(error, target)
        raise UserError(f"the plug-in {plugin} could not be loaded: {type(error).__name__}: {_first_line(error)}{where}") from error
    _packages.add(module.__name__.partition(".")[0])
    plugin_info(module)
    return module


def _load_file(path: Path) -> ModuleType:
    _make_importable(str(path.parent))
    name = _module_name(path)
    module = sys.modules.get(name)
    source = path.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    if module is not None and _digests.get(path, digest) == digest:
        _digests[path] = digest
        return module
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = module_from_spec(spec)
    former, sys.modules[name] = sys.modules.get(name), module
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)  # not through __pycache__, which a quick edit can deceive
    except BaseException:
        sys.modules.pop(name)
        if former is not None:
            sys.modules[name] = former
        raise
    _digests[path] = digest
    return module


def _module_name(path: Path) -> str:
    """The plain name if ``import`` finds this very file under it, else one made of the name and a hash of the path."""
    if path.stem.isidentifier():
        module = sys.modules.get(path.stem)
        try:
            origin = module.__file__ if module is not None else getattr(find_spec(path.stem), "origin", None)
        except (ImportError, ValueError, AttributeError):
            origin = None
        if origin is not None and Path(origin).resolve() == path:
            return path.stem
    stem = re.sub(r"\W", "_", path.stem)
    return f"aswd_plugin_{stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["no message"])[0]


def _line_of(error: BaseException, target: str) -> str:
    """Where in the plug-in's file, or else where at all, an exception was raised."""
    if isinstance(error, SyntaxError):
        return f" (line {error.lineno} of {error.filename})" if error.lineno else ""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == target]
    other = [frame for frame in frames if "importlib" not in frame.filename and frame.filename != __file__]
    frame = own[-1] if own else other[-1] if other else None
    return f" (line {frame.lineno} of {frame.filename})" if frame else ""


def plugin_info(*objects: Any) -> dict[str, str | None] | None:
    """What the code behind some objects is, for a run's key and record.

    The source files are, for every module that defines one of the objects or a base class of it:

    - in a package: all ``.py`` files and compiled modules in the folder of the top-level package;
    - else the module's file, and the files beside it that it imports, and those that they import.

    Code of aswd, of its dependencies and of the standard library counts as none. The digest does not depend on where the files are, and
    is that of the files as they were when the plug-in was loaded (or, of modules loaded otherwise, when they were first asked for).

    Args:
        objects: classes, functions, instances, modules or names of modules.

    Returns:
        ``{"module": of the first object from outside, "version": of its distribution or None, "digest": SHA-256 or None}``, with a
        digest of ``None`` where there are no source files, as in an interactive session; ``None`` if nothing comes from outside.
    """
    modules = list(dict.fromkeys(name for thing in objects for name in _modules_of(thing) if name.partition(".")[0] not in _NOT_PLUGINS))
    if not modules:
        return None
    files: dict[str, Path] = {}
    for name in modules:
        files |= _source_files(name)
    text = "\n".join(f"{name} {_digest(path)}" for name, path in sorted(files.items()))
    digest = hashlib.sha256(text.encode()).hexdigest() if files else _text_digest(objects)
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
