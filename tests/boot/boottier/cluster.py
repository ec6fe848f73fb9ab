"""The cluster's side: the rendered MachineConfig of a pool and what a machine config server makes of it."""

import base64
import hashlib
import json
from urllib.parse import quote, unquote_to_bytes

from . import graph

# The bootstrap identity of a cluster that is not there.
KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: local
  cluster: {server: "https://api-int.cluster.example.com:6443"}
users:
- name: kubelet
  user: {token: not-a-token}
contexts:
- name: kubelet
  context: {cluster: local, user: kubelet}
current-context: kubelet
"""

IGNITION_VERSION = "3.2.0"
# Of the OS image; the MCO enables it.
OPEN_VSWITCH = {"name": "openvswitch.service", "enabled": True}
# What scenarios call them, and release, platform and role in the table of units.
WIRINGS = {"a": "4.11/baremetal/worker", "b": "4.21/baremetal/worker", "b-recovery": "4.21/baremetal/worker"}
# In no release of the table; it came later in 2026.
RECOVERY = [
    {"name": "kubelet-dependencies.target",
     "dropins": [{"name": "recovery.conf", "contents": "[Unit]\nOnFailure=ovs-kubelet-recovery.service\n"}]},
    {"name": "ovs-kubelet-recovery.service", "contents": """[Unit]
Description=Recover OVS-dependent Kubernetes boot chain
After=local-fs.target
StartLimitIntervalSec=20min
StartLimitBurst=3

[Service]
Type=oneshot
ExecStart=/usr/libexec/stand-in-recovery
TimeoutStartSec=7min
"""}]


def data_url(content):
    """A file's content as a MachineConfig carries it."""
    if isinstance(content, str):
        content = content.encode()
    return "data:;base64," + base64.b64encode(content).decode()


def ignition_file(path, content, mode=0o644):
    """One entry of `storage.files`."""
    return {"path": path, "mode": mode, "overwrite": True, "contents": {"source": data_url(content)}}


def wiring_units(wiring):
    """The units of one wiring, or of RELEASE/PLATFORM/ROLE, as `systemd.units`."""
    units = [*graph.units(*WIRINGS.get(wiring, wiring).split("/")), OPEN_VSWITCH]
    return units + RECOVERY if wiring == "b-recovery" else units


def merge(*configs):
    """Merges Ignition configs the way the controller merges MachineConfigs: later files and units win."""
    files, units = {}, {}
    for config in configs:
        for file in config.get("storage", {}).get("files", []):
            files[file["path"]] = file
        for unit in config.get("systemd", {}).get("units", []):
            merged = units.setdefault(unit["name"], {})
            dropins = merged.get("dropins", []) + unit.get("dropins", [])
            merged.update(unit)
            if dropins:
                merged["dropins"] = dropins
    return {"ignition": {"version": IGNITION_VERSION},
            "storage": {"files": list(files.values())},
            "systemd": {"units": list(units.values())}}


def rendered(config, *, pool="worker", release="4.21.3", os_image):
    """The rendered MachineConfig of a pool. `release` may be None, as on a control plane at install time."""
    text = json.dumps(config, sort_keys=True)
    name = f"rendered-{pool}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    annotations = {"machineconfiguration.openshift.io/generated-by-controller-version": "unknown"}
    if release is not None:
        annotations["machineconfiguration.openshift.io/release-image-version"] = release
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {
            "name": name,
            "creationTimestamp": "2026-05-04T10:11:12Z",
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
                "name": pool, "uid": "5a2e7c9e-2b0d-4d42-9d54-0c2f6f4f0a11",
                "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {"baseOSExtensionsContainerImage": "", "config": config, "extensions": [], "fips": False,
                 "kernelArguments": [], "kernelType": "default", "osImageURL": os_image},
    }


def appended_file(path, text, mode=0o644):
    """A file as the machine config server appends it: percent-encoded, without a media type."""
    return {"path": path, "mode": mode, "overwrite": True, "contents": {"source": "data:," + quote(text, safe="")}}


def content(file):
    """What an entry of `storage.files` writes."""
    kind, _, text = file["contents"]["source"].partition(",")
    return base64.b64decode(text) if kind.endswith("base64") else unquote_to_bytes(text)


def served(machine_config, kubeconfig, extra=None):
    """What the machine config server answers: the config and the files it appends to it, with `extra` as docs/dev/machine-config-server.md has it."""
    emptied = json.loads(json.dumps(machine_config))
    emptied["spec"]["config"] = {"ignition": {"version": IGNITION_VERSION}}
    name = machine_config["metadata"]["name"]
    annotations = {"machineconfiguration.openshift.io/currentConfig": name,
                   "machineconfiguration.openshift.io/desiredConfig": name,
                   "machineconfiguration.openshift.io/state": "Done"}
    parts = [{"storage": {"files": [appended_file("/etc/machine-config-daemon/node-annotations.json", json.dumps(annotations))]}}]
    if extra:
        # The policy is text, as what the server appends today is.
        files = [appended_file(file["path"], content(file).decode()) if file["path"].endswith(".json") else file for file in extra["storage"]["files"]]
        parts.append({**extra, "storage": {"files": files}})
    parts.append({"storage": {"files": [
        appended_file("/etc/kubernetes/kubeconfig", kubeconfig, 0o600),
        appended_file("/etc/mcs-machine-config-content.json", json.dumps(machine_config), 0o600),
        appended_file("/etc/ignition-machine-config-encapsulated.json", json.dumps(emptied), 0o600),
    ]}})
    return merge(machine_config["spec"]["config"], *parts)


def pointer(url, *extra):
    """A pointer config: what a cloud hands to the machine as user data."""
    config = {"ignition": {"version": IGNITION_VERSION, "config": {"merge": [{"source": url}]}}}
    for part in extra:
        for key in ("storage", "systemd"):
            if key in part:
                config[key] = part[key]
    return config
