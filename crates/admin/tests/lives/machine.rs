//! Machines, their sets, and those that joined.

use super::cluster::{Born, Cluster, MACHINES, Platform};
use super::moment::{HOUR, MINUTE, Moment, SECOND, stamp};
use serde_json::{Value, json};

impl Cluster {
    fn provider_spec(&self) -> Value {
        let secret = json!({ "name": "worker-user-data" });
        match self.platform {
            Platform::Aws => {
                json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig", "ami": { "id": "ami-0123456789abcdef0" },
                "instanceType": "m6i.xlarge", "placement": { "availabilityZone": "us-east-2a", "region": "us-east-2" }, "userDataSecret": secret })
            }
            Platform::Vsphere => {
                json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec", "template": "c1-x7k2p-rhcos",
                "workspace": { "server": "vcenter.example.com", "datacenter": "dc1", "datastore": "ds1" }, "userDataSecret": secret })
            }
            Platform::Openstack => {
                json!({ "apiVersion": "machine.openshift.io/v1alpha1", "kind": "OpenstackProviderSpec", "flavor": "m1.xlarge", "image": "c1-x7k2p-rhcos", "userDataSecret": secret })
            }
            Platform::Gcp => {
                json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "GCPMachineProviderSpec", "machineType": "n2-standard-4", "region": "us-central1", "zone": "us-central1-a",
                "disks": [{ "boot": true, "image": "projects/example/global/images/c1-rhcos", "sizeGb": 128 }], "userDataSecret": secret })
            }
            Platform::BareMetal | Platform::None => {
                json!({ "apiVersion": "baremetal.cluster.k8s.io/v1alpha1", "kind": "BareMetalMachineProviderSpec", "image": { "url": "", "checksum": "" },
                "customDeploy": { "method": "install_coreos" }, "userData": { "name": "worker-user-data-managed" } })
            }
        }
    }

    pub(super) fn provider_id(&self, born: &Born) -> String {
        let id = format!("i-0{}", born.name);
        match self.platform {
            Platform::Aws => format!("aws:///us-east-2a/{id}"),
            Platform::Vsphere => format!("vsphere://{id}"),
            Platform::Openstack => format!("openstack:///{id}"),
            Platform::Gcp => format!("gce://example/us-central1-a/{}", born.name),
            Platform::BareMetal | Platform::None => {
                format!("baremetalhost:///{MACHINES}/{}/{id}", born.node)
            }
        }
    }

    /// A Machine whose instance runs.
    pub(super) fn machine(&mut self, born: &Born) -> Value {
        let mut machine = self.machine_without_instance(born);
        let up = stamp(born.at + 90 * SECOND);
        machine["spec"]["providerID"] = self.provider_id(born).into();
        machine["metadata"]["annotations"] =
            json!({ "machine.openshift.io/instance-state": self.running() });
        machine["status"] = json!({ "phase": "Provisioned", "lastUpdated": up,
            "addresses": [{ "type": "InternalIP", "address": born.address }, { "type": "InternalDNS", "address": born.node }, { "type": "Hostname", "address": born.node }],
            "conditions": [{ "type": "Drainable", "status": "True", "lastTransitionTime": stamp(born.at) }, { "type": "InstanceExists", "status": "True", "lastTransitionTime": up }, { "type": "Terminable", "status": "True", "lastTransitionTime": stamp(born.at) }],
            "providerStatus": { "instanceId": "i-0", "instanceState": self.running() } });
        if self.platform == Platform::BareMetal {
            machine["metadata"]["annotations"] =
                json!({ "metal3.io/BareMetalHost": format!("{MACHINES}/{}", born.node) });
            machine["status"]
                .as_object_mut()
                .unwrap()
                .remove("providerStatus");
        }
        machine
    }

    pub(super) fn running(&self) -> &'static str {
        match self.platform {
            Platform::Vsphere => "poweredOn",
            Platform::Openstack => "ACTIVE",
            Platform::Gcp => "RUNNING",
            _ => "running",
        }
    }

    pub(super) fn machine_without_instance(&mut self, born: &Born) -> Value {
        let mut meta = self.meta(&born.name, MACHINES, born.at);
        meta["labels"] = json!({ "machine.openshift.io/cluster-api-cluster": "c1-x7k2p", "machine.openshift.io/cluster-api-machine-role": "worker",
            "machine.openshift.io/cluster-api-machine-type": "worker", "machine.openshift.io/cluster-api-machineset": born.set });
        meta["ownerReferences"] = json!([{ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": born.set, "uid": "u", "controller": true, "blockOwnerDeletion": true }]);
        meta["finalizers"] = json!(["machine.machine.openshift.io"]);
        json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": meta,
            "spec": { "lifecycleHooks": {}, "metadata": {}, "providerSpec": { "value": self.provider_spec() } },
            "status": { "phase": "Provisioning", "lastUpdated": stamp(born.at + 10 * SECOND),
                "conditions": [{ "type": "InstanceExists", "status": "False", "reason": "InstanceNotCreated", "severity": "Warning", "message": "Instance has not been created", "lastTransitionTime": stamp(born.at) }] } })
    }

    /// The sets of all Machines that there are.
    pub(super) fn sets(&mut self) {
        let at = self.now - 30 * 24 * HOUR;
        for name in ["c1-x7k2p-worker-a", "c1-x7k2p-worker-b", "c1-x7k2p-gpu"] {
            let replicas = self
                .objects
                .iter()
                .filter(|object| {
                    object["kind"] == "Machine"
                        && object["metadata"]["ownerReferences"][0]["name"] == name
                })
                .count();
            if replicas == 0 && name.ends_with("gpu") {
                continue;
            }
            let mut spec = self.provider_spec();
            if name.ends_with("gpu") {
                of_gpu(&mut spec);
            }
            let meta = self.meta(name, MACHINES, at);
            let labels = json!({ "machine.openshift.io/cluster-api-machineset": name, "machine.openshift.io/cluster-api-machine-role": "worker" });
            self.objects.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": meta,
                "spec": { "replicas": replicas, "selector": { "matchLabels": { "machine.openshift.io/cluster-api-machineset": name } },
                    "template": { "metadata": { "labels": labels }, "spec": { "providerSpec": { "value": spec } } } },
                "status": { "replicas": replicas, "observedGeneration": 1 } }));
        }
    }

    /// A machine whose instance runs, and which was just now, or some hours ago, made.
    pub(super) fn waiting(&mut self) -> Born {
        let ago = self.dice.range(25, 300) * MINUTE + self.dice.range(0, 59) * SECOND;
        self.birth(ago)
    }

    /// Puts the Machine there as it is.
    pub(super) fn place(&mut self, born: &Born) {
        let machine = self.machine(born);
        self.objects.push(machine);
        if self.platform == Platform::BareMetal {
            self.host(born, "provisioned", None);
        }
    }

    /// The moment at which its Ignition asks.
    pub(super) fn first_ask(&mut self, born: &Born) -> Moment {
        born.at + self.dice.range(95, 400) * SECOND + self.dice.range(0, 999)
    }

    /// It asks, is served, asks for its certificate, and is a Node.
    pub(super) fn join(&mut self, born: &Born) {
        let asked = self.first_ask(born);
        self.ask(&born.address, asked);
        let node_at = asked + self.dice.range(200, 400) * SECOND;
        if node_at > self.now - MINUTE {
            self.place(born);
            return;
        }
        self.joined(born, node_at);
    }

    pub(super) fn joined(&mut self, born: &Born, node_at: Moment) {
        let name = born.node.clone();
        self.approved(&name, node_at - 20 * SECOND, true);
        let mut node = self.node(&name, &born.address, node_at, "worker");
        node["spec"]["providerID"] = self.provider_id(born).into();
        node["metadata"]["annotations"]["machine.openshift.io/machine"] =
            format!("{MACHINES}/{}", born.name).into();
        let mut machine = self.machine(born);
        machine["status"]["phase"] = "Running".into();
        machine["status"]["lastUpdated"] = stamp(node_at + 40 * SECOND).into();
        machine["status"]["nodeRef"] =
            json!({ "kind": "Node", "name": name, "uid": node["metadata"]["uid"] });
        if self.dice.percent(10) {
            node["metadata"]["labels"]["skewguard.dev/boot-image"] =
                super::fates::claims::IMAGE.into();
        }
        if self.dice.percent(2) && self.is_due("clock-ahead") {
            // Its kubelet's clock.
            let beat = stamp(self.now + 3 * HOUR);
            node["status"]["conditions"][0]["lastHeartbeatTime"] = beat.into();
        }
        self.objects.extend([node, machine]);
        if self.platform == Platform::BareMetal {
            self.host(born, "provisioned", None);
        }
        self.healthy.extend([born.name.clone(), name]);
    }

    /// A host, and the Machine that has it.
    pub(super) fn host(&mut self, born: &Born, state: &str, error: Option<(&str, &str)>) {
        let mut meta = self.meta(&born.node, MACHINES, self.now - 20 * 24 * HOUR);
        meta["labels"] = json!({});
        let mut host = json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": meta,
            "spec": { "online": true, "bootMACAddress": format!("52:54:00:00:{:02x}:{:02x}", self.born / 256, self.born % 256), "bmc": { "address": "redfish-virtualmedia://192.0.2.7/redfish/v1/Systems/1", "credentialsName": "x" },
                "consumerRef": { "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": born.name, "namespace": MACHINES } },
            "status": { "errorCount": 0, "errorMessage": "", "operationalStatus": "OK", "poweredOn": true, "provisioning": { "state": state, "ID": "x", "image": { "url": "" } },
                "operationHistory": { "provision": { "start": stamp(born.at + 30 * SECOND), "end": if state == "provisioned" { json!(stamp(born.at + 80 * SECOND)) } else { Value::Null } } },
                "hardware": { "hostname": born.node, "nics": [{ "name": "eno1", "ip": born.address }] }, "lastUpdated": stamp(self.now - 2 * MINUTE) } });
        if let Some((kind, message)) = error {
            host["status"]["errorType"] = kind.into();
            host["status"]["errorMessage"] = message.into();
            host["status"]["errorCount"] = 3.into();
            host["status"]["operationalStatus"] = "error".into();
        }
        self.objects.push(host);
    }
}

/// Takes the user data of another pool.
pub(super) fn of_gpu(spec: &mut Value) {
    let is_host = spec["userData"].is_object();
    let field = if is_host {
        "userData"
    } else {
        "userDataSecret"
    };
    spec[field]["name"] = "gpu-user-data".into();
}
