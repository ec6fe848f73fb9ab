"""The agent under test: built from this project, and put into a boot image or a config."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from pathlib import Path

import yaml

from .cache import remove
from .paths import PROJECT, TARGET
from .trees import BuildError, run

FULL = TARGET / "dist/skewguard"
EMBED = TARGET / "dist/skewguard-embed"
# What admins run, as `cargo test` has built it: it is not what is tested here.
ADMIN = TARGET / "debug/kubectl-skewguard"
GIVEN = "SKEWGUARD_BOOT_BINARY"
# The files of the RPM.
PACKAGE = TARGET / "boot-package"


def binary(embed=False):
    """The static binary under test: SKEWGUARD_BOOT_BINARY, or what the project ships."""
    given = os.environ.get(GIVEN)
    return Path(given) if given else EMBED if embed else FULL


def build(few=False):
    """Builds the binaries that ship, unless one is given, the package, and the test API server. `few`: the embed build alone, in the place of both. A binary over its size
    budget is for the dist tier to fail on."""
    for kind in () if os.environ.get(GIVEN) else ("embed",) if few else ("full", "embed"):
        said = _run_cargo([str(PROJECT / "dist/build"), kind], "over its budget")
        print("\n".join(line for line in said.splitlines() if line.startswith(kind)), flush=True)
    if few:
        os.environ.setdefault(GIVEN, str(EMBED))
    # Of the whole workspace, with what tests need: as `cargo test` builds it, and so nothing is compiled twice.
    _run_cargo(["cargo", "build", "--locked", "--quiet", "--workspace", "--bin", "kubectl-skewguard", "--example", "test-apiserver"])
    _package()


def _run_cargo(command, spared=None):
    done = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0 and not (spared and spared in done.stdout):
        raise BuildError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def _package():
    """Builds the RPM around the binaries, and unpacks it: what a boot image gets is what the package has."""
    remove(PACKAGE)
    for name in ("SOURCES", "prebuilt", "tree"):
        (PACKAGE / name).mkdir(parents=True)
    version = tomllib.loads((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    with tarfile.open(PACKAGE / f"SOURCES/skewguard-{version}.tar.gz", "w:gz", compresslevel=1) as archive:
        for name in ("LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "dist", "docs", "systemd"):
            archive.add(PROJECT / name, f"skewguard-{version}/{name}")
    shutil.copy(binary(), PACKAGE / "prebuilt/skewguard")
    shutil.copy(binary(embed=True), PACKAGE / "prebuilt/skewguard-embed")
    shutil.copy(ADMIN, PACKAGE / "prebuilt/kubectl-skewguard")
    run([str(ADMIN), "man", str(PACKAGE / "prebuilt")])
    shutil.copy(PROJECT / "dist/man/skewguard.1", PACKAGE / "prebuilt/man")
    for name in ("skewguard", "kubectl-skewguard"):
        (PACKAGE / f"prebuilt/{name}.licences.txt").write_text("those of the boot tier's agent\n", encoding="utf-8")
    run(["rpmbuild", "-bb", "--quiet", "--with", "prebuilt", "--define", f"prebuilt {PACKAGE}/prebuilt",
         "--define", f"_topdir {PACKAGE}", str(PROJECT / "dist/skewguard.spec")])
    (package,) = PACKAGE.glob("RPMS/*/skewguard-[0-9]*.rpm")
    run(["sh", "-c", f"rpm2cpio '{package}' | cpio -idm --quiet"], cwd=PACKAGE / "tree")


def render(*arguments):
    """What `oc skewguard render ...` prints."""
    command = [str(ADMIN), "render", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def install(root):
    """Bakes the agent into a boot image, by the files of its package. Returns their paths in the image."""
    tree = PACKAGE / "tree"
    shutil.copytree(tree, root, symlinks=True, dirs_exist_ok=True)
    return [f"/{path.relative_to(tree)}" for path in tree.rglob("*") if path.is_symlink() or not path.is_dir()]


def as_machine_config(policy):
    """The Ignition config inside what `oc skewguard render machineconfig` prints for this policy."""
    return yaml.safe_load(_render_with(policy, "machineconfig", binary(embed=True)))["spec"]["config"]


def as_ignition(policy):
    """What `oc skewguard render ignition` prints for this policy."""
    return json.loads(_render_with(policy, "ignition", binary()))


def with_pointer(user_data, url):
    """User data with what `oc skewguard render pointer` adds to it, to fetch the full binary from `url`."""
    with tempfile.NamedTemporaryFile("w", suffix=".ign", encoding="utf-8") as file:
        json.dump(user_data, file)
        file.flush()
        digest = hashlib.sha512(binary().read_bytes()).hexdigest()
        return json.loads(render("pointer", "--url", url, "--sha512", digest, "--user-data", file.name))


def _render_with(policy, what, program):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(policy, file)
        file.flush()
        return render(what, "--policy", file.name, "--binary", str(program))
