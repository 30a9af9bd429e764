"""Builds the wheel for `pip install .`: a backend after PEP 517 that needs CMake and nothing from the network.

`--config-settings=build-dir=DIR` takes an existing build with VIG_PYTHON=ON instead of configuring one.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
MODELS = ("default.safetensors", "segment.safetensors", "detect.safetensors")
FILES = ("__init__.py", "__init__.pyi", "py.typed", "training.py", *MODELS)


def _read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def _version():
    return re.search(r"project\(vig VERSION ([0-9.]+)", _read("CMakeLists.txt")).group(1)


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[^A-Za-z0-9_]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def _metadata():
    summary = re.search(r'^description = "(.*)"$', _read("pyproject.toml"), re.M).group(1)
    return {
        "METADATA": "Metadata-Version: 2.1\nName: vig\n"
        f"Version: {_version()}\nSummary: {summary}\nRequires-Python: >=3.9\nRequires-Dist: numpy\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: vig\nRoot-Is-Purelib: false\nTag: {_tag()}\n",
        "LICENSE": _read("LICENSE"),
    }


def _run(*command):
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.stderr.write(result.stdout[-8000:])
        raise SystemExit(f"{' '.join(command[:3])} failed with status {result.returncode}")


def _build(settings):
    """The folder with the package: the compiled part for this very Python."""
    folder = (settings or {}).get("build-dir")
    if not folder:
        folder = os.path.join(ROOT, "build", "python")
        _run("cmake", "--preset", "python", "-DPython_EXECUTABLE=" + sys.executable)
    _run("cmake", "--build", folder, "--target", "vig_python", "--parallel", str(len(os.sched_getaffinity(0))))
    return os.path.join(folder, "python", "vig")


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    name = f"vig-{_version()}.dist-info"
    os.makedirs(os.path.join(metadata_directory, name), exist_ok=True)
    for file, text in _metadata().items():
        with open(os.path.join(metadata_directory, name, file), "w", encoding="utf-8") as out:
            out.write(text)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _build(config_settings)
    engine = "_engine" + sysconfig.get_config_var("EXT_SUFFIX")
    contents = {}
    for file in (*FILES, engine):
        with open(os.path.join(package, file), "rb") as data:
            contents[f"vig/{file}"] = data.read()
    info = f"vig-{_version()}.dist-info"
    for file, text in _metadata().items():
        contents[f"{info}/{file}"] = text.encode()
    record = ""
    for file, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{file},sha256={digest},{len(data)}\n"
    contents[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    name = f"vig-{_version()}-{_tag()}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, data in contents.items():
            # One date for all, so that the same files make the same wheel.
            entry = zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if file.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name
