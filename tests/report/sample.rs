//! Verdicts and identities to report.

use crate::node::identity::Identity;
use crate::verdict::Verdict;

/// A refusal as `enforce` leaves it.
pub(crate) fn refused() -> Verdict {
    serde_json::from_str(REFUSED).unwrap()
}

pub(crate) const REFUSED: &str = r#"{
  "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageVerdict",
  "verdict": "Refused", "action": "Block", "reason": "BelowMinimumOCPVersion",
  "message": "boot image 411.86.202308081056-0 (OCP 4.11) is older than the minimum 4.13.0",
  "findings": [
    { "rule": "BelowMinimumOCPVersion", "result": "Fail", "have": "4.11", "want": "4.13.0", "message": "OCP 4.11 is below 4.13.0" },
    { "rule": "BelowMinimumRHCOSVersion", "result": "Fail", "have": "8.6", "want": "9.2", "message": "RHEL 8.6 is below 9.2" }
  ],
  "bootImage": { "version": "411.86.202308081056-0", "scheme": "Legacy", "rhelVersion": "8.6", "ocpVersion": "4.11",
                 "buildDate": "2023-08-08", "buildNumber": 0, "source": "Aleph", "path": "/sysroot/.coreos-aleph-version.json" },
  "target": { "release": "4.21.3", "pool": "worker", "machineConfig": "rendered-worker-0123456789abcdef",
              "osImageURL": "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:0123" },
  "policy": { "path": "/etc/skewguard/policy.json", "digest": "sha256:4567", "mode": "Enforce", "limitRelease": "4.21",
              "helpText": "Ask #platform on chat.", "helpUrl": "https://wiki.example.com/boot-images" },
  "override": null, "warnings": ["/etc/skewguard/policy.json: differs from the served one"],
  "deployment": { "ostree": "/ostree/boot.1/rhcos/abc/0", "onTarget": false, "rebased": false, "firstBootFinished": false },
  "platform": "aws",
  "gate": { "held": true, "units": ["machine-config-daemon-firstboot.service", "kubelet.service"] }
}"#;

/// The host name of [`identity`].
pub(crate) const HOST: &str = "ip-10-0-1-23.eu-west-1.compute.internal";

pub(crate) fn identity() -> Identity {
    Identity {
        hostname: Some(HOST.to_owned()),
        machine_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
        product_uuid: Some("ec2a1b2c-0000-1111-2222-333344445555".to_owned()),
        platform: Some("aws".to_owned()),
        addresses: vec!["10.0.1.23".to_owned(), "2001:db8::23".to_owned()],
        mac_addresses: vec!["02:00:0a:00:01:17".to_owned()],
    }
}
