//! Certificate requests of kubelets, the words of the machine-approver of each release, and the CAs
//! that Ignition trusts.

use super::cluster::Cluster;
use super::moment::{Moment, SECOND, stamp};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    date_time_ymd,
};
use serde_json::{Value, json};
use std::sync::OnceLock;

pub(super) const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";

struct Keys {
    key: KeyPair,
    signer: CertifiedIssuer<'static, KeyPair>,
    /// Two, each a root-ca.
    roots: [String; 2],
}

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| Keys {
        key: KeyPair::generate().unwrap(),
        signer: authority("kubelet-signer"),
        roots: [authority("root-ca").pem(), authority("root-ca").pem()],
    })
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2024, 1, 1);
    params.not_after = date_time_ymd(2034, 1, 1);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// The CA of today, and that of before.
pub(super) fn roots() -> &'static [String; 2] {
    &keys().roots
}

fn params(node: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "system:nodes");
    params
        .distinguished_name
        .push(DnType::CommonName, format!("system:node:{node}"));
    params.not_before = date_time_ymd(2026, 8, 1);
    params.not_after = date_time_ymd(2026, 9, 1);
    params
}

fn request_of(node: &str) -> String {
    let request = params(node).serialize_request(&keys().key).unwrap();
    STANDARD.encode(request.pem().unwrap())
}

impl Cluster {
    /// A request that waits. The name of the request.
    pub(super) fn pending(&mut self, node: &str, at: Moment) -> String {
        let request = self.request(node, at, true);
        let name = request["metadata"]["name"].as_str().unwrap().to_owned();
        self.objects.push(request);
        name
    }

    pub(super) fn request(&mut self, node: &str, at: Moment, is_client: bool) -> Value {
        let name = format!("csr-{}", self.dice.word(5));
        let mut meta = self.meta(&name, "", at);
        meta["generateName"] = "csr-".into();
        let (signer, user, usage) = if is_client {
            (
                "kubernetes.io/kube-apiserver-client-kubelet",
                BOOTSTRAPPER.to_owned(),
                "client auth",
            )
        } else {
            (
                "kubernetes.io/kubelet-serving",
                format!("system:node:{node}"),
                "server auth",
            )
        };
        let groups = if is_client {
            json!([
                "system:serviceaccounts",
                "system:serviceaccounts:openshift-machine-config-operator",
                "system:authenticated"
            ])
        } else {
            json!(["system:nodes", "system:authenticated"])
        };
        let version = if self.release.minor > 5 {
            "v1"
        } else {
            "v1beta1"
        };
        json!({ "apiVersion": format!("certificates.k8s.io/{version}"), "kind": "CertificateSigningRequest", "metadata": meta,
            "spec": { "request": request_of(node), "signerName": signer, "username": user, "groups": groups, "usages": ["digital signature", usage] }, "status": {} })
    }

    /// A request that was approved, and signed.
    pub(super) fn approved(&mut self, node: &str, at: Moment, is_client: bool) {
        // The cluster's own cleaner takes it away after an hour.
        if at > self.now - super::moment::HOUR {
            self.signed(node, at, is_client);
        }
    }

    pub(super) fn signed(&mut self, node: &str, at: Moment, is_client: bool) {
        let mut request = self.request(node, at, is_client);
        let name = request["metadata"]["name"].as_str().unwrap().to_owned();
        let signed = params(node)
            .signed_by(&keys().key, &keys().signer)
            .unwrap()
            .pem();
        request["status"] = json!({ "certificate": STANDARD.encode(signed),
            "conditions": [{ "type": "Approved", "status": "True", "reason": "NodeCSRApprove", "message": "This CSR was approved by the Node CSR Approver", "lastUpdateTime": stamp(at + SECOND) }] });
        self.objects.push(request);
        let file = "controller.go:120";
        if self.release.minor >= 8 {
            self.approver
                .info(at + 200, file, format!("Reconciling CSR: {name}"));
        } else {
            self.approver
                .info(at + 200, file, format!("CSR {name} added"));
        }
        self.approver
            .info(at + 700, file, format!("CSR {name} approved"));
    }

    /// What the approver says of a request that it does not approve.
    pub(super) fn unapproved(&mut self, request: &str, at: Moment, why: &str) {
        for n in 0..self.dice.range(1, 3) {
            let at = at + n * 300 * SECOND + 100;
            if at > self.now {
                break;
            }
            if self.release.minor < 8 {
                let why = why.trim_end_matches(", cannot approve");
                self.approver
                    .info(at, "main.go:147", format!("CSR {request} added"));
                self.approver.info(
                    at + 30,
                    "main.go:182",
                    format!("CSR {request} not authorized: {why}"),
                );
            } else {
                self.approver.info(
                    at,
                    "controller.go:120",
                    format!("Reconciling CSR: {request}"),
                );
                self.approver
                    .error(at + 30, "csr_check.go:273", format!("{request}: {why}"));
                self.approver.info(
                    at + 40,
                    "controller.go:233",
                    format!("{request}: CSR not authorized"),
                );
            }
        }
    }

    /// That it finds no Machine by the node's name.
    pub(super) fn no_machine_of(&self, node: &str) -> String {
        if self.release.minor >= 20 {
            format!("failed to find machine with InternalDNS matching {node}, cannot approve")
        } else if self.release.minor >= 8 {
            format!("failed to find machine for node {node}, cannot approve")
        } else {
            format!("failed to find machine for node {node}")
        }
    }

    /// The user data Secret with a CA, and the ConfigMaps that have today's.
    pub(super) fn user_data(&mut self, ca: &str) {
        let secret = self.secret();
        let spec = if self.release.minor == 5 {
            "2.2.0"
        } else {
            "3.2.0"
        };
        let key = if self.release.minor == 5 {
            "append"
        } else {
            "merge"
        };
        let at = self.now - 30 * 24 * super::moment::HOUR;
        for (name, pool) in [
            ("worker-user-data", "worker"),
            ("worker-user-data-managed", "worker"),
            ("gpu-user-data", "gpu"),
        ] {
            let pointer = json!({ "ignition": { "version": spec, "config": { key: [{ "source": format!("https://api-int.c1.example.com:22623/config/{pool}") }] },
                "security": { "tls": { "certificateAuthorities": [{ "source": format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(ca)) }] } } },
                "passwd": { "users": [{ "name": "core", "passwordHash": secret }] } });
            let meta = self.meta(name, super::cluster::MACHINES, at);
            self.objects.push(json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta,
                "data": { "disableTemplating": STANDARD.encode("true\n"), "userData": STANDARD.encode(pointer.to_string()) } }));
        }
        let root = &roots()[0];
        let mut maps = vec![("root-ca", "kube-system", "ca.crt")];
        if self.release.minor >= 19 {
            maps.push((
                "machine-config-server-ca",
                "openshift-machine-config-operator",
                "ca-bundle.crt",
            ));
        }
        for (name, namespace, key) in maps {
            let meta = self.meta(name, namespace, at);
            self.objects.push(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": { key: root } }));
        }
    }
}
