//! Property: whatever a cluster holds, the audit invents no version, and allows no image whose
//! version it does not know.

use super::audit_text;
use proptest::prelude::*;
use serde_json::{Value, json};

fn image() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        "[0-9]{1,3}[.-][0-9]{1,2}[.-][0-9]{8,12}[.-][0-9]{1,2}",
        Just("rhcos-412.86.202301311551-0-vmware.x86_64".to_owned()),
        Just("projects/rhcos-cloud/global/images/rhcos-9-6-20250523-0-gcp-x86-64".to_owned()),
        Just("ami-0a1b2c3d4e5f60718".to_owned()),
        Just("azureopenshift:aro4:418-v2:418.94.20250122".to_owned()),
    ]
}

fn version() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        Just(Some("412.86.202301311551-0".to_owned())),
        Just(Some("418.94.202501221327-0".to_owned())),
        "[A-Za-z0-9._-]{1,20}".prop_map(Some)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nothing_unknown_is_let_in(
        sets in prop::collection::vec((0..4usize, image(), image(), version(), version()), 1..5),
        own in version(),
    ) {
        let mut items = Vec::new();
        for (n, (platform, template, made_from, label, reported)) in sets.iter().enumerate() {
            let spec = |image: &str| match platform {
                0 => json!({ "kind": "AWSMachineProviderConfig", "ami": { "id": image } }),
                1 => json!({ "kind": "VSphereMachineProviderSpec", "template": image }),
                2 => json!({ "kind": "GCPMachineProviderSpec", "disks": [{ "boot": true, "image": image }] }),
                _ => json!({ "kind": "AzureMachineProviderSpec", "image": { "resourceID": image } }),
            };
            let set = json!({ "name": format!("s{n}"), "namespace": "m" });
            items.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": set,
                "spec": { "template": { "spec": { "providerSpec": { "value": spec(template) } } } } }));
            items.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                "metadata": { "name": format!("m{n}"), "namespace": "m", "ownerReferences": [{ "kind": "MachineSet", "name": format!("s{n}") }] },
                "spec": { "providerSpec": { "value": spec(made_from) } }, "status": { "nodeRef": { "name": format!("n{n}") } } }));
            if let Some(label) = label {
                items.push(json!({ "apiVersion": "v1", "kind": "Node",
                    "metadata": { "name": format!("n{n}"), "labels": { "skewguard.dev/boot-image": label } } }));
            }
            if let Some(reported) = reported {
                items.push(json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageReport", "metadata": { "name": "r", "namespace": "skewguard" },
                    "report": { "verdict": { "bootImage": { "version": reported } }, "node": { "hostname": format!("m{n}") } } }));
            }
        }
        if let Some(own) = &own {
            let regions = json!({ "r": { "release": own, "image": "ami-0a1b2c3d4e5f60718" } });
            let stream = json!({ "architectures": { "x86_64": { "images": { "aws": { "regions": regions } } } } });
            items.push(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "coreos-bootimages", "namespace": "openshift-machine-config-operator" },
                "data": { "stream": stream.to_string() } }));
        }
        let text = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
        let (out, err, _) = audit_text(&text, &["--output", "json"]);
        let audit: Value = serde_json::from_str(&out).map_err(|_| TestCaseError::fail(err))?;
        // Punctuation of names may differ from that of the version.
        let plain = |text: &str| text.replace(['.', '-', '_'], "");
        for set in audit["sets"].as_array().unwrap() {
            match set["bootImage"]["version"].as_str() {
                None => {
                    prop_assert_eq!(&set["knownBy"], "Unknown");
                    prop_assert_ne!(&set["verdict"], "Allowed");
                }
                Some(version) => {
                    prop_assert_ne!(&set["knownBy"], "Unknown");
                    let said = sets.iter().flat_map(|(_, a, b, c, d)| [Some(a), Some(b), c.as_ref(), d.as_ref()]).flatten().chain(&own);
                    let version = plain(version);
                    prop_assert!(said.map(|said| plain(said)).any(|said| said.contains(&version)), "{}", set);
                }
            }
        }
    }
}
