"""Plug-ins: code from outside that aswd loads.

A plug-in is a module that registers distances (or anything else that has a registry) when it is imported. It is loaded

- from an installed package that names it under the entry point group ``aswd.plugins`` (or ``aswd.distances``, the older name), or
- from a file or module that the user gives: ``load_plugins(["my_distance.py", "package.module"])``.

What identifies a plug-in is the digest of its source files, see :func:`~aswd.utils.source_code.plugin_info`.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from aswd.utils.errors import UserError
from aswd.utils.source_code import has_source, plugin_info, record_source, record_version, source_digest

__all__ = [
    "config_dirs",
    "load_entry_points",
    "load_plugins",
    "make_working_directory_importable",
    "plugin_info",
    "resolve_plugin",
    "source_digest",
]

PATIENCE = 5.0  # seconds until a plug-in that is still loading is named
GROUPS = ("aswd.plugins", "aswd.distances")
_entry_points_loaded = False
_packages: set[str] = set()  # top-level modules of the plug-ins that were loaded


def load_entry_points() -> None:
    """Import the plug-ins of installed packages, once per process.

    One that cannot be imported is named in one sentence on stderr; the others are loaded all the same.
    """
    global _entry_points_loaded
    if _entry_points_loaded:
        return
    _entry_points_loaded = True  # first: a plug-in may list the distances while it is imported
    for entry in (entry for group in GROUPS for entry in entry_points(group=group)):
        try:
            with _watched(entry.value):
                entry.load()
        except (Exception, SystemExit) as error:
            package = f" of the package {entry.dist.name}" if entry.dist else ""
            reason = f"{type(error).__name__}: {_first_line(error)}"
            print(f"aswd: the plug-in {entry.value!r}{package} could not be loaded and is left out: {reason}", file=sys.stderr)
        else:
            package = entry.module.partition(".")[0]
            if entry.dist:
                record_version(package, entry.dist.version)
            _packages.add(package)
            plugin_info(entry.module)


@contextmanager
def _watched(plugin: str) -> Iterator[None]:
    """While a plug-in is loaded its output goes to stderr; if it takes long, that is said."""
    timer = threading.Timer(PATIENCE, print, [f"aswd: still loading the plug-in {plugin} ..."], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        timer.cancel()


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
    folders = (Path(folder, "configs") for name in sorted(_packages) for folder in getattr(sys.modules.get(name), "__path__", ()))
    return [folder for folder in folders if folder.is_dir()]


def _load(plugin: str) -> ModuleType:
    make_working_directory_importable()
    target = resolve_plugin(plugin)
    try:
        with _watched(plugin):
            module = _load_file(Path(target)) if target.endswith(".py") or os.sep in target else import_module(target)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
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
    if module is not None and has_source(path, source):
        record_source(path, source)
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
    record_source(path, source)
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
    text = error.msg if isinstance(error, SyntaxError) else str(error)  # its line is said by _line_of
    return (str(text).splitlines() or ["no message"])[0]


def _line_of(error: BaseException, target: str) -> str:
    """Where in the plug-in's file, or else where at all, an exception was raised."""
    if isinstance(error, SyntaxError):
        return f" (line {error.lineno} of {error.filename})" if error.lineno else ""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == target]
    other = [frame for frame in frames if "importlib" not in frame.filename and frame.filename != __file__]
    frame = own[-1] if own else other[-1] if other else None
    return f" (line {frame.lineno} of {frame.filename})" if frame else ""
