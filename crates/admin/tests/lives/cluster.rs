//! A cluster: what is there, who joined, and what of it objects and logs show.

use super::NOT_YET;
use super::dice::Dice;
use super::moment::{DAY_OF_LIVES, HOUR, MINUTE, Moment, SECOND, micros, stamp};
use super::server::{Log, Prefix, Release};
use super::truth::Truth;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum World {
    /// Machines of a cloud or of vSphere.
    Machines,
    /// Machines that are hosts.
    Hosts,
    /// Neither: nodes that a person installs.
    Loners,
    /// Hosts that an assisted installer adds.
    Agents,
    /// Machines of NodePools.
    Hosted,
    /// Machines of one cluster, Nodes of another.
    TwoClusters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    Aws,
    Vsphere,
    Openstack,
    Gcp,
    BareMetal,
    None,
}

/// A machine from its birth on.
#[derive(Clone, Debug)]
pub(super) struct Born {
    pub(super) name: String,
    pub(super) address: String,
    /// The name that its kubelet takes.
    pub(super) node: String,
    pub(super) at: Moment,
    pub(super) set: String,
}

/// A request for a config.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) server: usize,
    pub(super) at: Moment,
    pub(super) from: String,
    pub(super) pool: String,
}

pub(super) struct Cluster {
    pub(super) dice: Dice,
    pub(super) world: World,
    pub(super) platform: Platform,
    pub(super) release: Release,
    pub(super) now: Moment,
    pub(super) servers: Vec<(String, Log)>,
    pub(super) approver: Log,
    /// Of ignition servers and others, by their path.
    pub(super) others: Vec<(String, Log)>,
    pub(super) prefix: Prefix,
    /// Addresses that stand in for all machines at the machine-config-server.
    pub(super) balancers: Vec<String>,
    pub(super) objects: Vec<Value>,
    pub(super) truths: Vec<Truth>,
    /// Machines and Nodes that wait for nothing.
    pub(super) healthy: Vec<String>,
    /// What waits, and is no machine that was born here.
    pub(super) strangers: Vec<String>,
    pub(super) secrets: Vec<String>,
    /// How many machines were born.
    pub(super) born: usize,
    is_stale: bool,
    /// What is not told yet, too.
    is_all: bool,
}

pub(super) const MACHINES: &str = "openshift-machine-api";

impl Cluster {
    pub(super) fn new(seed: u64, world: World, is_all: bool) -> Self {
        let mut dice = Dice::new(seed);
        let platform = match world {
            World::Machines | World::TwoClusters => dice.pick(&[
                Platform::Aws,
                Platform::Vsphere,
                Platform::Openstack,
                Platform::Gcp,
            ]),
            World::Hosts => Platform::BareMetal,
            World::Loners | World::Agents => Platform::None,
            World::Hosted => Platform::Aws,
        };
        let release = Release::any(&mut dice);
        let now = DAY_OF_LIVES + dice.range(6 * HOUR, 22 * HOUR);
        let balancers = if world == World::Machines && dice.percent(12) {
            vec!["10.0.176.75".to_owned(), "10.0.199.134".to_owned()]
        } else {
            Vec::new()
        };
        let is_stale = dice.percent(40);
        let mut cluster = Self {
            world,
            platform,
            release,
            now,
            servers: Vec::new(),
            approver: Log::default(),
            others: Vec::new(),
            prefix: Prefix::Timestamps,
            balancers,
            objects: Vec::new(),
            truths: Vec::new(),
            healthy: Vec::new(),
            strangers: Vec::new(),
            secrets: Vec::new(),
            born: 0,
            is_stale,
            is_all,
            dice,
        };
        cluster.prefix = match cluster.dice.below(100) {
            0..=7 => Prefix::Files,
            8..=12 => Prefix::Bare,
            _ => Prefix::Timestamps,
        };
        cluster.found();
        cluster
    }

    pub(super) fn is_due(&self, what: &str) -> bool {
        self.is_all || !NOT_YET.contains(&what)
    }

    /// The user data has the CA of before.
    pub(super) fn has_stale_user_data(&self) -> bool {
        self.is_stale
    }

    /// What every cluster has.
    fn found(&mut self) {
        let count = self.dice.pick(&[1, 2, 3, 3, 3, 3]);
        for n in 0..count {
            let name = format!("machine-config-server-{}", self.dice.word(5));
            let mut log = Log::default();
            let start = self.now - self.dice.range(2 * 24 * HOUR, 9 * 24 * HOUR);
            log.start(start, &self.release);
            log.noise(&mut self.dice, self.now, &self.release);
            self.servers.push((name.clone(), log));
            let node = format!("m{n}.c1.example.com");
            let address = format!("10.0.0.{}", 4 + n);
            let born = self.now - 40 * 24 * HOUR;
            let node_object = self.node(&node, &address, born, "master");
            self.objects.push(node_object);
            self.healthy.push(node.clone());
            self.objects
                .push(pod_of_server(&name, &node, &address, start));
        }
        let start = self.now - 9 * 24 * HOUR;
        self.approver
            .info(start, "main.go:72", "registering components".to_owned());
        let platform = match self.platform {
            Platform::Aws => "AWS",
            Platform::Vsphere => "VSphere",
            Platform::Openstack => "OpenStack",
            Platform::Gcp => "GCP",
            Platform::BareMetal => "BareMetal",
            Platform::None => "None",
        };
        let both = [
            json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": self.meta("version", "", start),
                "spec": { "clusterID": "5df1f3a7-0000-4000-8000-000000000001", "channel": "stable" },
                "status": { "desired": { "version": self.release.name, "image": "quay.io/x@sha256:0" },
                    "history": [{ "state": "Completed", "version": self.release.name, "startedTime": stamp(start), "completionTime": stamp(start + HOUR), "image": "quay.io/x@sha256:0", "verified": true }], "conditions": [] } }),
            json!({ "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": self.meta("cluster", "", start),
                "spec": { "platformSpec": { "type": platform } },
                "status": { "infrastructureName": "c1-x7k2p", "platform": platform, "platformStatus": { "type": platform }, "apiServerInternalURI": "https://api-int.c1.example.com:6443",
                    "apiServerURL": "https://api.c1.example.com:6443", "controlPlaneTopology": if count == 1 { "SingleReplica" } else { "HighlyAvailable" }, "infrastructureTopology": "HighlyAvailable" } }),
        ];
        self.objects.extend(both);
        for pool in ["master", "worker"] {
            let meta = self.meta(pool, "", start);
            self.objects.push(json!({ "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": meta,
                "spec": { "configuration": { "name": format!("rendered-{pool}-0123456789abcdef0123456789abcdef") } },
                "status": { "machineCount": 3, "conditions": [] } }));
        }
    }

    pub(super) fn meta(&mut self, name: &str, namespace: &str, at: Moment) -> Value {
        let id = format!(
            "{:08x}-0000-4000-8000-{:012x}",
            self.dice.next() >> 32,
            self.objects.len()
        );
        let mut meta = json!({ "name": name, "creationTimestamp": stamp(at), "uid": id,
            "resourceVersion": (100_000 + self.objects.len()).to_string() });
        if !namespace.is_empty() {
            meta["namespace"] = namespace.into();
        }
        meta
    }

    /// A machine that is made so long ago.
    pub(super) fn birth(&mut self, ago: Moment) -> Born {
        self.born += 1;
        let n = self.born;
        let address = format!("10.0.{}.{}", 16 + n / 200, 20 + n % 200);
        let set = format!("c1-x7k2p-worker-{}", self.dice.pick(&["a", "b"]));
        let name = match self.world {
            World::Machines | World::Hosts | World::TwoClusters => {
                format!("{set}-{}", self.dice.word(5))
            }
            World::Hosted => format!("hc1-workers-{}-{}", self.dice.word(5), self.dice.word(5)),
            World::Loners | World::Agents => format!("worker-{n}.c1.example.com"),
        };
        let node = match self.platform {
            Platform::Aws => format!(
                "ip-{}.us-east-2.compute.internal",
                address.replace('.', "-")
            ),
            Platform::BareMetal => format!("rack1-u{n}"),
            _ => name.clone(),
        };
        // Reverse DNS gives some their full name.
        let is_full = n.is_multiple_of(3) && !node.contains('.');
        let node = if is_full {
            format!("{node}.c1.example.com")
        } else {
            node
        };
        let at = self.now - ago;
        Born {
            name,
            address,
            node,
            at,
            set,
        }
    }

    pub(super) fn secret(&mut self) -> String {
        let secret = format!("S3cr3t{}", self.dice.hex(10));
        self.secrets.push(secret.clone());
        secret
    }

    /// What nobody should print of it but the host.
    pub(super) fn secret_url(&mut self) -> String {
        let (password, token) = (self.secret(), self.secret());
        format!("https://deploy:{password}@mirror.example.com/v2/rhcos?token={token}&x=1")
    }

    /// The address and port that the machine-config-server sees.
    fn peer(&mut self, address: &str) -> String {
        let address = match self.balancers.as_slice() {
            [] => address.to_owned(),
            all => self.dice.pick(all),
        };
        format!("{address}:{}", self.dice.range(32768, 60999))
    }

    pub(super) fn ask(&mut self, address: &str, at: Moment) -> Ask {
        let client = self.release.ignition();
        self.ask_as(address, at, "worker", client)
    }

    /// Of that server.
    pub(super) fn ask_of(&mut self, server: usize, address: &str, at: Moment) -> Ask {
        let from = self.peer(address);
        let text = self
            .release
            .request("worker", &from, self.release.ignition());
        self.servers[server].1.info(at, "api.go:119", text);
        Ask {
            server,
            at,
            from,
            pool: "worker".to_owned(),
        }
    }

    pub(super) fn ask_as(&mut self, address: &str, at: Moment, pool: &str, client: &str) -> Ask {
        let server = self.dice.below(self.servers.len());
        let from = self.peer(address);
        let text = self.release.request(pool, &from, client);
        self.servers[server].1.info(at, "api.go:119", text);
        Ask {
            server,
            at,
            from,
            pool: pool.to_owned(),
        }
    }

    /// It is answered so much later, with a 500.
    pub(super) fn refuse(&mut self, ask: &Ask, after: Moment, error: &str) {
        let printed = self.release.printed(&ask.pool, &mut self.dice);
        let text = format!("couldn't get config for req: {printed}, error: {error}");
        self.servers[ask.server]
            .1
            .error(ask.at + after, "api.go:136", text);
    }

    pub(super) fn unconverted(&mut self, ask: &Ask, error: &str) {
        let printed = self.release.printed(&ask.pool, &mut self.dice);
        let text = format!("couldn't convert config for req: {printed}, error: {error}");
        self.servers[ask.server]
            .1
            .error(ask.at + 40, "api.go:158", text);
    }

    /// The answer breaks on its way.
    pub(super) fn break_pipe(&mut self, ask: &Ask, after: Moment) {
        let printed = self.release.printed(&ask.pool, &mut self.dice);
        let text = format!(
            "failed to write {printed} response: write tcp 10.0.0.{}:22623->{}: write: broken pipe",
            4 + ask.server,
            ask.from
        );
        self.servers[ask.server]
            .1
            .error(ask.at + after, "api.go:179", text);
    }

    pub(super) fn rejects_tls(&mut self, address: &str, at: Moment, why: &str) {
        let server = self.dice.below(self.servers.len());
        let from = self.peer(address);
        self.servers[server]
            .1
            .go(at, format!("http: TLS handshake error from {from}: {why}"));
    }

    pub(super) fn node(&mut self, name: &str, address: &str, at: Moment, role: &str) -> Value {
        let beat = self.now - self.dice.range(SECOND, 5 * MINUTE);
        let mut meta = self.meta(name, "", at);
        meta["labels"] = json!({ format!("node-role.kubernetes.io/{role}"): "", "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64" });
        let config = format!("rendered-{role}-0123456789abcdef0123456789abcdef");
        meta["annotations"] = json!({ "machineconfiguration.openshift.io/state": "Done", "machineconfiguration.openshift.io/currentConfig": config, "machineconfiguration.openshift.io/desiredConfig": config });
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {},
            "status": { "addresses": [{ "type": "InternalIP", "address": address }, { "type": "Hostname", "address": name }],
                "conditions": [{ "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status", "lastTransitionTime": stamp(at + MINUTE), "lastHeartbeatTime": stamp(beat) }],
                "nodeInfo": { "architecture": "amd64", "osImage": "Red Hat Enterprise Linux CoreOS 9.6.20260616-0", "kubeletVersion": "v1.34.2", "machineID": "x", "systemUUID": "x", "bootID": "x", "kernelVersion": "5.14", "containerRuntimeVersion": "cri-o://1.34", "kubeProxyVersion": "", "operatingSystem": "linux" } } })
    }

    pub(super) fn event(
        &mut self,
        about: (&str, &str, &str, &str),
        at: Moment,
        reason: &str,
        message: &str,
        from: &str,
    ) {
        let (api, kind, namespace, name) = about;
        let id = format!("{name}.{}", self.dice.hex(16));
        let meta = self.meta(&id, namespace, at);
        let mut event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": meta,
            "involvedObject": { "apiVersion": api, "kind": kind, "namespace": namespace, "name": name },
            "reason": reason, "message": message, "type": "Warning", "count": 1, "firstTimestamp": stamp(at), "lastTimestamp": stamp(at),
            "source": { "component": from }, "reportingComponent": "", "reportingInstance": "" });
        if self.release.minor >= 22 {
            // Of `events.k8s.io`, as newer controllers make them.
            event["eventTime"] = micros(at).into();
            event["firstTimestamp"] = Value::Null;
            event["lastTimestamp"] = Value::Null;
            event["source"] = json!({});
            event["reportingComponent"] = from.into();
            event["reportingInstance"] = format!("{from}-6f8d").into();
            event["action"] = "Remediate".into();
            event.as_object_mut().unwrap().remove("count");
        }
        self.objects.push(event);
    }
}

fn pod_of_server(name: &str, node: &str, address: &str, start: Moment) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "openshift-machine-config-operator", "creationTimestamp": stamp(start), "uid": format!("uid-{name}"), "resourceVersion": "5",
            "labels": { "k8s-app": "machine-config-server" } },
        "spec": { "nodeName": node, "hostNetwork": true, "containers": [{ "name": "machine-config-server" }] },
        "status": { "phase": "Running", "hostIP": address, "podIP": address, "startTime": stamp(start),
            "containerStatuses": [{ "name": "machine-config-server", "ready": true, "restartCount": 0, "state": { "running": { "startedAt": stamp(start) } } }] } })
}
