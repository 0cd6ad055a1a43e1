"""The connection to Weights & Biases, which may be absent, refuse or not respond; no key of it is ever written."""

from __future__ import annotations

import netrc
import os
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from urllib.parse import urlparse

from aswd.utils.errors import UserError
from aswd.utils.secrets import mask_text

MODES = ("auto", "online", "offline")
TIMEOUT = 30  # seconds to wait for a server
STEP = "trainer/global_step"  # the x axis: _step counts calls of log, images among them


def is_installed() -> bool:
    """Whether wandb can be imported."""
    try:
        return find_spec("wandb") is not None
    except ValueError:  # a module that was removed from sys.modules
        return False


def imported(output_dir: str | Path) -> ModuleType:
    """The package, set up to keep its files in the output folder.

    Raises:
        UserError: it is not installed.
    """
    keep_files_in(output_dir)
    try:
        import wandb
    except ImportError as error:
        raise UserError(f"W&B is not installed ({error}): pip install wandb; the store does not need it") from None
    return wandb


def keep_files_in(output_dir: str | Path) -> None:
    """Have wandb write nowhere else and print nothing; variables that are set stay."""
    for variable, place in (("WANDB_DATA_DIR", "data"), ("WANDB_CACHE_DIR", "cache")):
        os.environ.setdefault(variable, str(Path(output_dir, "wandb", place).absolute()))
    os.environ.setdefault("WANDB_SILENT", "true")
    Path(output_dir, "wandb").mkdir(parents=True, exist_ok=True)


def is_online(mode: str) -> bool:
    """Whether runs go to a server in this mode; ``auto`` is what wandb itself is set to, or else online where there is a key.

    Raises:
        UserError: they are to, and there is no key, for which wandb would ask on the terminal; or W&B is disabled.
    """
    if mode == "auto":
        mode = _mode_of_wandb()
    if mode == "disabled":
        raise UserError("mode must be 'offline' or 'online' where WANDB_MODE=disabled, or `wandb disabled`, turns W&B off; got 'auto'")
    if mode == "online" and not logged_in():
        raise UserError("mode must be 'offline' where there is no key of W&B; got 'online': wandb login or WANDB_API_KEY gives one")
    return mode != "offline" and logged_in()


def _mode_of_wandb() -> str:
    """The mode that ``WANDB_MODE`` or ``wandb offline`` chose: one of :data:`MODES`, or ``disabled``."""
    mode = os.environ.get("WANDB_MODE")
    if not mode:
        import wandb

        mode = wandb.setup().settings.mode
        mode = "auto" if mode == "online" else mode  # its default
    mode = {"dryrun": "offline", "run": "online", "shared": "online"}.get(mode, mode)
    if mode not in (*MODES, "disabled"):
        raise UserError(f"WANDB_MODE must be online, offline or disabled; got {mode!r}")
    return mode


def logged_in() -> bool:
    """Whether this machine has a key for W&B, by the environment or by ``wandb login``."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    given = os.environ.get("WANDB_BASE_URL")
    hosts = [urlparse(given).netloc] if given else ["api.wandb.ai", _default_host()]
    try:
        known = netrc.netrc(os.environ.get("NETRC"))
    except (OSError, netrc.NetrcParseError):
        return False
    return any(host and known.authenticators(host) for host in hosts)


def sentence(error: BaseException) -> str:
    """An error of W&B in one line, without keys."""
    text = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
    return f"{type(error).__name__}: {mask_text(text)}"


def _default_host() -> str | None:
    try:
        import wandb

        return urlparse(wandb.Settings().base_url).netloc
    except Exception:  # absent, or its settings cannot be read: then nobody is logged in to it
        return None
