"""An environment as an archive, for the nodes of a cluster: Tidemark, the packages it needs, and the jars.

    bin/python                       the Python of the node, of the same version and at the same path as here
    lib/python3.x/site-packages      packages, without Spark's own jars: the cluster has them
    share/tidemark                   the jars of Delta, of S3 and of the native engine

Nothing is fetched: the packages are those of this environment. PEX finds out which of them belong to the archive.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import comet_jars_dir, s3_jars_dir
from spark_jobs.runtime.jars import require_jars

_PROJECT = "tidemark"
_OWN = ("spark_jobs", "expectations")
_OPTIONAL = re.compile(r";.*\bextra\b")


def make(archive: Path, report: Callable[[str], None]) -> int:
    """Write the archive, a `.tar.gz`; returns its size in bytes.

    Raises RuntimeSetupError without PEX or jars, and if the packages cannot be copied.
    """
    folders = [require_jars(), *(folder for folder in (s3_jars_dir(), comet_jars_dir()) if folder.is_dir())]
    if find_spec("pex") is None:
        raise RuntimeSetupError.no_pex()
    with TemporaryDirectory(prefix="tidemark-package-") as scratch:
        root = Path(scratch) / _PROJECT
        report("copying the packages")
        _copy_packages(root)
        for folder in folders:
            shutil.copytree(folder, root / "share" / _PROJECT / folder.name)
        report("compressing")
        archive.parent.mkdir(parents=True, exist_ok=True)
        partial = archive.with_name(f".{archive.name}.part")
        try:
            with tarfile.open(partial, "w:gz", compresslevel=6) as tar:
                for path in sorted(root.iterdir()):
                    tar.add(path, path.name)
            partial.replace(archive)
        finally:
            partial.unlink(missing_ok=True)
    return archive.stat().st_size


def _copy_packages(root: Path) -> None:
    """Make an environment at `root` with all that Tidemark needs."""
    requirements = [text.split(";")[0] for text in metadata.requires(_PROJECT) or () if not _OPTIONAL.search(text)]
    command = [sys.executable, "-m", "pex.cli", "venv", "create", "--dest-dir", str(root), "--site-packages-copies"]
    ended = subprocess.run(
        [*command, "--venv-repository", sys.prefix, *requirements], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise RuntimeSetupError.not_packaged(ended.stderr.strip() or ended.stdout.strip())
    (packages,) = root.glob("lib/python3.*/site-packages")
    shutil.rmtree(packages / "pyspark" / "jars", ignore_errors=True)
    for package in _OWN:
        # The package may be that of a checkout.
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise RuntimeSetupError.not_packaged(f"the package {package} is missing")
        source = Path(spec.origin).parent
        target = packages / source.name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
