"""A policy that the machine config server appends: the cases of docs/dev/machine-config-server.md."""

from . import cluster

# Wiring, and the release that the config names: HyperShift's names none.
CASES = {"wiring-a": ("a", "4.13.0"), "wiring-b": ("b", "4.22.0"), "hypershift": ("b", None)}
OS_IMAGE = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + "ab" * 32


def machine_config(case):
    """The rendered MachineConfig of the pool: nothing of skewguard is in it."""
    wiring, release = CASES[case]
    return cluster.rendered(cluster.merge({"systemd": {"units": cluster.wiring_units(wiring)}}), release=release, os_image=OS_IMAGE)


def policy(case):
    """What the server makes of the operator's constants, and of its own release where the config names one."""
    _, release = CASES[case]
    limit = {"minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2"}
    if release:
        limit = {"release": ".".join(release.split(".")[:2]), **limit}
    return {"apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [limit],
            "help": {"url": "https://docs.openshift.com/container-platform/latest/machine_configuration/mco-update-boot-images.html"}}
