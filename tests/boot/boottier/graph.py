"""The units that a cluster serves to a node, by release, platform and role: generated from tests/data/mco-units.tsv.

Each keeps its name, ordering, requirements, conditions and install lines. What it starts is a stand-in, which notes that it ran. Units of the OS
image that the table's units depend on come with it, with the ordering of their own projects.
"""

from functools import lru_cache

from .paths import PROJECT

TABLE = PROJECT / "tests/data/mco-units.tsv"
RELEASES = [f"4.{minor}" for minor in range(6, 24)] + ["main"]
UNIT = ("After", "Before", "Requires", "Wants")
INSTALL = ("RequiredBy", "WantedBy")
# systemd splits these at spaces nowhere: one line each.
CONDITIONS = ("ConditionPathExists", "ConditionPathIsDirectory", "ConditionKernelCommandLine")
# Of the OS image, or with no effect here: the table has no more than a drop-in for them.
NOT_HERE = {"chrony-wait.service", "corosync.service", "docker.socket", "gcp-routes.service", "ipsec.service", "openvswitch-ipsec.service",
            "ovs-vswitchd.service", "ovsdb-server.service", "pivot.service", "rpm-ostreed.service", "zincati.service"}
# A real pull and rebase take minutes. So whatever does not wait for the rebase runs before it, here too: it begins when no job but its own runs.
LATE = """ExecStartPre=/bin/sh -c 'for i in $(seq 100); do \
systemctl list-jobs --no-legend | grep -v "machine-config-daemon-firstboot" | grep -q " running$" || break; sleep 0.1; done'
"""
# As the journal names them; the others go by the name of the unit.
DESCRIPTIONS = {"kubelet.service": "Kubernetes Kubelet", "machine-config-daemon-firstboot.service": "Machine Config Daemon Firstboot"}
STARTS = {
    "machine-config-daemon-firstboot.service": LATE + "ExecStart=/usr/libexec/stand-in-rebase\n",
    "kubelet.service": "ExecStart=/usr/libexec/stand-in-kubelet\n",
    # On the console, too: in the middle of what is shown there.
    "ovs-configuration.service": "ExecStart=/usr/libexec/stand-in ovs-configuration.service\n"
                                 "StandardOutput=journal+console\nStandardError=journal+console\n",
    # Waits for the bridge that ovs-configuration makes.
    "wait-for-br-ex-up.service": """ExecStart=/bin/sh -c 'read -r boot </proc/sys/kernel/random/boot_id; \
until grep -q "^$boot .* ovs-configuration.service" /var/log/stand-ins; do sleep 0.2; done; /usr/libexec/stand-in wait-for-br-ex-up.service'
""",
}
# What a path unit waits for: the resolver's file is there as soon as NetworkManager is, the routes only when an API server runs.
PATHS = {"on-prem-resolv-prepender.path": "/run/systemd/system"}
NO_PATH = "/run/cloud-routes"
# Triggered by a path that stays: once is enough.
ONCE = {"on-prem-resolv-prepender.service"}
# Of the OS image: NetworkManager, open-vm-tools, afterburn.
OS_UNITS = {
    "NetworkManager.service": "After=network-pre.target dbus.service; Before=network.target; Wants=network.target; Type=notify; "
                              "WantedBy=multi-user.target",
    "vmtoolsd.service": "Type=notify; WantedBy=multi-user.target",
    "afterburn.service": "Type=oneshot; RemainAfterExit=yes; WantedBy=multi-user.target",
}
OS_DROP_INS = {"NetworkManager-wait-online.service": "[Unit]\nRequires=NetworkManager.service\nAfter=NetworkManager.service\n"}


@lru_cache(maxsize=None)
def _table():
    lines = [line for line in TABLE.read_text(encoding="ascii").splitlines() if not line.startswith("#")]
    return [line.split("\t") for line in lines[1:]]


def platforms():
    """Every platform of the table."""
    return sorted({word.split("/")[0] for row in _table() for word in row[2].split()} - {"all", "masters"})


def _covers(ranges, release):
    place = RELEASES.index(release)
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if RELEASES.index(first) <= place <= RELEASES.index(last or first):
            return True
    return False


def select(release, platform, role):
    """What the table has for this node: unit name to (enabled, directives)."""
    chosen = {}
    for name, releases, nodes, enabled, directives in _table():
        words = nodes.split()
        meant = role == "master" if words == ["all", "masters"] else {"all", platform, f"{platform}/{role}"} & set(words)
        if meant and _covers(releases, release) and name not in NOT_HERE and "@" not in name:
            if name in chosen:
                raise ValueError(f"{name}: two rows for {release} {platform} {role}")
            chosen[name] = (enabled, directives)
    return chosen


def _parsed(directives):
    return dict(item.split("=", 1) for item in directives.split("; ") if item)


def _contents(name, directives):
    """The unit file."""
    items = _parsed(directives)
    stem, kind = name.rsplit(".", 1)
    unit = "".join(f"{key}={items[key]}\n" for key in UNIT if key in items)
    unit += "".join(f"{key}={value}\n" for key in CONDITIONS for value in items.get(key, "").split())
    body = ""
    if kind == "service":
        how = items.get("Type", "simple")
        stays = how in ("notify", "simple") and items.get("Restart") == "always" or how == "notify"
        start = STARTS.get(name) or f"ExecStart=/usr/libexec/stand-in {name}{' --stay' if stays else ''}\n"
        body = f"Type={'notify' if stays else how}\n{start}" + ("NotifyAccess=all\n" if stays else "")
        if "RemainAfterExit" in items or name in ONCE:
            body += "RemainAfterExit=yes\n"
        if "Restart" in items:
            body += f"Restart={items['Restart']}\nRestartSec=10\n"
        body = f"[Service]\n{body}"
    elif kind == "path":
        body = f"[Path]\nPathExists={PATHS.get(name, NO_PATH)}\n"
    elif kind == "mount":
        body = f"[Mount]\nWhat=tmpfs\nType=tmpfs\nWhere=/{stem.replace('-', '/')}\n"
    install = "".join(f"{key}={items[key]}\n" for key in INSTALL if key in items)
    return f"[Unit]\nDescription={DESCRIPTIONS.get(name, name)}\n{unit}\n{body}" + (f"\n[Install]\n{install}" if install else "")


def units(release, platform, role):
    """The same as `systemd.units` of an Ignition config."""
    made = []
    for name, (enabled, directives) in select(release, platform, role).items():
        if name == "crio.service":
            items = _parsed(directives)
            text = "".join(f"{key}={value}\n" for key, value in items.items())
            made.append({"name": name, "dropins": [{"name": "05-mco-ordering.conf", "contents": f"[Unit]\n{text}"}]})
        else:
            unit = {"name": name, "contents": _contents(name, directives)}
            made.append(unit if enabled == "unset" else {**unit, "enabled": enabled == "enabled"})
    made += [{"name": name, "enabled": True, "contents": _contents(name, directives)} for name, directives in OS_UNITS.items()]
    made += [{"name": name, "dropins": [{"name": "10-os.conf", "contents": text}]} for name, text in OS_DROP_INS.items()]
    return made


def orderings(release, platform, role):
    """Pairs of services of which the first comes before the second when both run, directly or through targets.

    Not those whose first one is of Type=simple: systemd waits only for its fork.
    """
    after, simple = {}, set()
    for name, (_, directives) in select(release, platform, role).items():
        items = _parsed(directives)
        if items.get("Type", "simple") == "simple":
            simple.add(name)
        for other in items.get("After", "").split():
            after.setdefault(name, set()).add(other)
        for other in items.get("Before", "").split():
            after.setdefault(other, set()).add(name)
    pairs = set()
    for name in after:
        todo, seen = list(after[name]), set()
        while todo:
            other = todo.pop()
            if other in seen:
                continue
            seen.add(other)
            if other.endswith(".target"):
                todo += after.get(other, ())
            elif name.endswith(".service") and other.endswith(".service") and other not in simple:
                pairs.add((other, name))
    return sorted(pairs)


def distinct(releases, names):
    """(release, platform, role) of every graph that differs from those before it, with what else has the same one."""
    found = {}
    for release in releases:
        for platform in names:
            for role in ("worker", "master"):
                key = repr(sorted(select(release, platform, role).items()))
                found.setdefault(key, []).append((release, platform, role))
    return [(same[0], same[1:]) for same in found.values()]
