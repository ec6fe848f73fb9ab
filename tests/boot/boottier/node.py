"""A node of the cluster before its first boot: disk, boot image, served config, and the boots it makes."""

import json
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

from . import agent, cluster, ignition
from .boot import Boot
from .mcs import AGENT_PATH, PATH, MachineConfigServer
from .nspawn import Container
from .patience import BOOT
from .sysroot import IMAGES, STATEROOT, boot_entries, choose_image, deployment

FROM_IMAGE = object()


@dataclass
class Setup:
    """Everything that makes one first boot differ from another."""

    image: str
    target: str
    wiring: str = "b"
    # What the served config says of the cluster; release None: annotation absent.
    release: str | None = "4.21.3"
    pool: str = "worker"
    # Content of /etc/skewguard/policy.json: an object, text, or None for no policy.
    policy: object = None
    # "baked" into the image, served as a "machineconfig", "both" of them, "appended" by the server, in user data by "ignition", fetched by a
    # "pointer" in user data, or None: no agent.
    delivery: str | None = "baked"
    # Content of the aleph file; None for no aleph.
    aleph: object = FROM_IMAGE
    # OSTREE_VERSION of the boot image's os-release; None: that of the image.
    os_release: str | None = None
    # Another image, whose aleph and os-release a machine in QEMU has.
    named: object = None
    kernel_arguments: str = "ignition.platform.id=metal"
    files: dict = field(default_factory=dict)
    kubeconfig: str = cluster.KUBECONFIG
    # The user data, where it is all that the machine gets: nothing is served, and nothing is delivered otherwise.
    whole: dict | None = None

    def aleph_text(self):
        """The aleph of the boot image, unless the scenario has its own."""
        if self.aleph is FROM_IMAGE:
            version = (self.named or IMAGES[self.image]).version
            return json.dumps({"osbuild-version": "142", "version": version,
                               "ref": f"docker://ostree-image-signed:oci-archive:/rhcos-{version}.ociarchive"})
        if self.aleph is None or isinstance(self.aleph, str):
            return self.aleph
        return json.dumps(self.aleph)

    def machine_config(self):
        """The rendered MachineConfig of the node's pool."""
        parts = [{"systemd": {"units": cluster.wiring_units(self.wiring)}}]
        if self.delivery in ("machineconfig", "both"):
            parts.append(agent.as_machine_config(self.policy))
        elif self.policy is not None and self.delivery != "appended":
            parts.append(policy_file(self.policy))
        parts.append({"storage": {"files": [cluster.ignition_file(*item) for item in {**BELOW_ISSUE, **self.files}.items()]}})
        return cluster.rendered(cluster.merge(*parts), pool=self.pool, release=self.release,
                                os_image=IMAGES[self.target].pullspec)

    def served(self):
        """What the machine config server answers."""
        extra = agent.as_machine_config(self.policy) if self.delivery == "appended" else None
        config = cluster.served(self.machine_config(), self.kubeconfig, extra)
        config["storage"]["files"].append(cluster.ignition_file("/etc/stand-in/pool", self.pool))
        return config

    def user_data(self, url):
        """What the machine gets as user data: a pointer, and the agent where it is delivered that way."""
        if self.delivery == "ignition":
            return cluster.pointer(url, agent.as_ignition(self.policy))
        if self.delivery == "pointer":
            return agent.with_pointer(cluster.pointer(url), url.replace(PATH, AGENT_PATH))
        return cluster.pointer(url)


# What stands below /etc/issue on a real node: of console-login-helper-messages the keys and the interfaces, of Ignition what it did
# (coreos-ignition-write-issues of fedora-coreos-config).
BELOW_ISSUE = {f"/etc/issue.d/{name}.issue": "".join(f"{line}\n" for line in lines) for name, lines in {
    "21_clhm_ssh_host_keys": [f"SSH host key: SHA256:{key * 43} ({kind})" for key, kind in (("a", "ED25519"), ("b", "ECDSA"), ("c", "RSA"))],
    "22_clhm_ens192": [r"ens192: \4{ens192} \6{ens192}"],
    "30_coreos_ignition_provisioning": [time.strftime("Ignition: ran on %Y/%m/%d %H:%M:%S UTC (this boot)", time.gmtime()), "Ignition: user-provided config was applied"],
    "30_ssh_authorized_keys": ["Ignition: wrote ssh authorized keys file for user: core"],
}.items()}


def policy_file(policy):
    """An Ignition config with the policy file in it."""
    text = policy if isinstance(policy, str) else json.dumps(policy)
    return {"storage": {"files": [cluster.ignition_file("/etc/skewguard/policy.json", text)]}}


class Node:
    """A node whose disk is a folder, booted with systemd-nspawn."""

    def __init__(self, base, work, setup, log):
        self.setup = setup
        self.log = log
        self.work = work
        self.disk = work / "disk"
        for name in ("upper", "overlay", "disk"):
            shutil.rmtree(work / name, ignore_errors=True)
            (work / name).mkdir(parents=True)
        subprocess.run(["mount", "-t", "overlay", "skewguard-boot", "-o",
                        f"lowerdir={base},upperdir={work}/upper,workdir={work}/overlay", str(self.disk)],
                       check=True)
        choose_image(self.disk, IMAGES[setup.image])
        aleph = setup.aleph_text()
        if aleph is not None:
            (self.disk / ".coreos-aleph-version.json").write_text(aleph, encoding="utf-8")
        if setup.os_release is not None:
            path = self.root / "usr/lib/os-release"
            path.unlink()
            path.write_text(f'ID="rhcos"\nOSTREE_VERSION="{setup.os_release}"\n', encoding="utf-8")
        if setup.delivery in ("baked", "both"):
            agent.install(self.root)
        self.boots = []

    @property
    def root(self):
        """The root folder of the deployment that the next boot takes."""
        return deployment(self.disk, boot_entries(self.disk)[0])

    @property
    def var(self):
        """The node's /var."""
        return self.disk / STATEROOT / "var"

    def provision(self):
        """Ignition: fetches the served config over HTTP through the pointer, and applies it."""
        if self.setup.whole is not None:
            with self._var_mounted(self.root):
                ignition.apply(self.root, self.setup.whole, self.work)
            return
        server = MachineConfigServer(self.setup.served())
        try:
            with self._var_mounted(self.root):
                ignition.apply(self.root, self.setup.user_data(server.url("127.0.0.1")), self.work)
        finally:
            server.close()
        wanted = [PATH, AGENT_PATH] if self.setup.delivery == "pointer" else [PATH]
        if [request["path"] for request in server.requests] != wanted:
            raise ignition.IgnitionError(f"the machine config server was asked for {server.requests}")

    @contextmanager
    def _var_mounted(self, root):
        subprocess.run(["mount", "--bind", str(self.var), str(root / "var")], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", str(root / "var")], check=True)

    def boot(self, kernel_arguments="", timeout=BOOT):
        """Starts the next boot. The first is provisioned before, and only it has ignition.firstboot, as GRUB's stamp file does it."""
        words = [self.setup.kernel_arguments, kernel_arguments]
        if not self.boots:
            self.provision()
            words.append("ignition.firstboot")
        arguments = " ".join(filter(None, words))
        machine = Container(self.disk, arguments)
        boot = Boot(machine, len(self.boots) + 1, time.monotonic() + timeout)
        self.boots.append(boot)
        self.log(f"boot {boot.number}: {machine.root.name[:12]} {arguments}")
        return boot

    def close(self):
        """Takes the power away from whatever still runs."""
        for boot in self.boots:
            boot.machine.kill()
