"""Hedgerow as somebody has it after `pip install`: a wheel of this tree in an environment of its own."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import sizes

ROOT = Path(__file__).parents[2]


def installed(folder: Path) -> Path:
    """The command `hedgerow` of a new environment.

    At small size nothing is fetched: the wheel is packed here, by what the project says belongs into it, and
    what it needs is lent by this environment. At full size pip builds it and fetches everything.

    Args:
        folder: where the environment is made.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    if sizes.FULL:
        subprocess.run([*pip, f"{ROOT}[serve]"], check=True)
    else:
        subprocess.run([*pip, "--no-index", "--no-deps", packed(folder)], check=True)
        lent = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env")}))
        (lent / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
        _lend_loops(ROOT / "src", lent)
    return folder / "env" / "bin" / "hedgerow"


def _lend_loops(source: Path, lent: Path) -> None:
    """Compiled loops, which are known by when their source was written: so that nothing is compiled twice."""
    for kept in source.rglob("*.nbc"):
        if (of := lent / kept.parent.parent.relative_to(source)).is_dir():
            (of / "__pycache__").mkdir(exist_ok=True)
            shutil.copy2(kept, of / "__pycache__" / kept.name)
    for path in source.rglob("*.py"):
        if (there := lent / path.relative_to(source)).exists():
            os.utime(there, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))


def packed(folder: Path) -> Path:
    """A wheel: the packages that pyproject.toml names, with its commands."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, (package,) = whole["project"], whole["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    stem = f"{project['name']}-{project['version']}"
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    commands = "".join(f"{name} = {target}\n" for name, target in project["scripts"].items())
    files = {
        f"{stem}.dist-info/METADATA": about.encode(),
        f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/entry_points.txt": f"[console_scripts]\n{commands}".encode(),
    }
    source = ROOT / package
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files[str(path.relative_to(source.parent))] = path.read_bytes()
    lines = [f"{name},sha256={_digest(held)},{len(held)}" for name, held in files.items()]
    files[f"{stem}.dist-info/RECORD"] = "\n".join([*lines, f"{stem}.dist-info/RECORD,,", ""]).encode()
    made = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, held in files.items():
            wheel.writestr(name, held)
    return made


def _digest(held: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(held).digest()).rstrip(b"=").decode()
