//! Refuses a Machine before it exists: a ValidatingAdmissionPolicy over the images that an audit
//! found to be refused (pure).
//!
//! The images and what is said of them are data, in a ConfigMap; the policy only looks for them.
//! Every field may be absent, and an expression that fails lets the Machine through
//! (`failurePolicy: Ignore`): a mistake here must not keep a cluster from scaling up.

use super::yaml;
use crate::policy::Mode;
use crate::text::{cut, printable_up_to};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The most images that are refused.
const MAX_IMAGES: usize = 1000;

/// Longest name of an image, in characters.
const MAX_IMAGE: usize = 512;

/// Longest reason and remedy, in characters: with them the message stays below the 1,024 of an
/// Event.
const MAX_MESSAGE: usize = 400;

/// Largest list of images, in bytes. A ConfigMap holds 1 MiB.
const MAX_LIST: usize = 900 << 10;

/// The annotation that lets one Machine through.
const ALLOW: &str = "skewguard.dev/allow-boot-image";

/// What has the image: the policy's variable for a Machine's `providerSpec.value`, or for the spec
/// of an infrastructure machine.
const SPEC: &str = "variables.spec";

const NAME: &str = "skewguard-machines";

/// Image fields of a `providerSpec.value` and of infrastructure machines, the longest of those with
/// a common end first, and how to read each.
const FIELDS: [(&str, FieldForm); 13] = [
    ("image.imageRef.name", FieldForm::Text),
    ("image.filter.name", FieldForm::Text),
    ("image.marketplace", FieldForm::Urn),
    ("image.resourceID", FieldForm::Text),
    ("volume.baseVolumeID", FieldForm::Text),
    ("template_name", FieldForm::Text),
    ("disks[].image", FieldForm::BootDisk),
    ("image.name", FieldForm::Text),
    ("image.uuid", FieldForm::Text),
    ("image.url", FieldForm::Text),
    ("image.id", FieldForm::Text),
    ("ami.id", FieldForm::Text),
    ("template", FieldForm::Text),
];

/// `image` itself is a string, or on Azure the parts of a URN.
const IMAGE: &str = "image";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldForm {
    Text,
    Urn,
    BootDisk,
}

/// What is read of an audit (`oc skewguard audit --output json`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Audit {
    kind: String,
    policy: Option<AuditPolicy>,
    sets: Vec<Set>,
}

#[derive(Debug, Deserialize)]
struct AuditPolicy {
    digest: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Set {
    verdict: String,
    image: Option<String>,
    image_field: Option<String>,
    boot_image: Option<BootImage>,
    #[serde(default)]
    message: String,
    remedy: Option<String>,
}

#[derive(Debug, Deserialize)]
struct BootImage {
    version: String,
}

/// The images that are refused, and where Machines name them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Images {
    /// What is said of each.
    messages: BTreeMap<String, String>,
    /// The expressions that read the fields.
    fields: BTreeSet<String>,
    /// What of the audit is not used, and why.
    pub(crate) left_out: Vec<String>,
}

impl Images {
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Those that an audit of a policy with this digest found to be refused.
    ///
    /// # Errors
    /// It is no audit, or one of another policy, or there are too many images. The text says what
    /// to do.
    pub(crate) fn from_audit(json: &[u8], digest: &str) -> Result<Self, String> {
        let audit: Audit = serde_json::from_slice(json).map_err(|error| {
            format!("not the JSON of `oc skewguard audit --output json`: {error}")
        })?;
        if audit.kind != "BootImageAudit" {
            return Err("not the JSON of `oc skewguard audit --output json`".to_owned());
        }
        if audit.policy.and_then(|policy| policy.digest).as_deref() != Some(digest) {
            return Err(
                "the audit was made with another policy; make it again with this one".to_owned(),
            );
        }
        let others: BTreeSet<&str> = audit
            .sets
            .iter()
            .filter(|set| set.verdict != "Refused")
            .filter_map(|set| set.image.as_deref())
            .collect();
        let mut images = Self::default();
        let mut left_out = BTreeSet::new();
        for set in audit.sets.iter().filter(|set| set.verdict == "Refused") {
            if let Err(why) = images.add(set, &others) {
                left_out.insert(why);
            }
        }
        images.left_out = left_out.into_iter().collect();
        if images.len() > MAX_IMAGES || images.list().len() > MAX_LIST {
            return Err(format!(
                "{} images are refused; at most {MAX_IMAGES}, and {} KiB, fit. Correct the machine sets first, the oldest images at the front",
                images.len(),
                MAX_LIST >> 10
            ));
        }
        Ok(images)
    }

    fn add(&mut self, set: &Set, others: &BTreeSet<&str>) -> Result<(), String> {
        let (Some(image), Some(field)) = (&set.image, &set.image_field) else {
            return Err("sets whose image is not named".to_owned());
        };
        let shown = printable_up_to(image, MAX_IMAGE);
        if shown != *image || image.is_empty() {
            return Err(format!(
                "an image with a name that is not plain text: {}",
                cut(&shown, 100)
            ));
        }
        if others.contains(image.as_str()) {
            return Err(format!("{}: another set may use it", cut(&shown, 100)));
        }
        let read = read(field, image)
            .ok_or_else(|| format!("{}: no Machine has its field", cut(&shown, 100)))?;
        self.fields.insert(read);
        let version = set
            .boot_image
            .as_ref()
            .map(|boot_image| format!(" ({})", boot_image.version))
            .unwrap_or_default();
        let remedy = set.remedy.as_ref().map(|remedy| format!(". {remedy}"));
        let message = format!(
            "boot image {}{version} is refused by the skew policy: {}{}",
            cut(image, 100),
            set.message,
            remedy.unwrap_or_default()
        );
        let message = cut(&printable_up_to(&message, MAX_MESSAGE), MAX_MESSAGE);
        let message = format!("{message}; annotation {ALLOW} lets one Machine through");
        self.messages.entry(image.clone()).or_insert(message);
        Ok(())
    }

    /// One line for each image: its name, a tab, the message. Both are printable.
    fn list(&self) -> String {
        let lines: Vec<String> = self
            .messages
            .iter()
            .map(|(image, message)| format!("{image}\t{message}"))
            .collect();
        lines.join("\n")
    }
}

/// The expression for the list of images that this field names, given as the audit has it. `None`
/// for another field.
fn read(field: &str, image: &str) -> Option<String> {
    let ends = |known: &str| {
        field
            .strip_suffix(known)
            .is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let known = FIELDS.iter().find(|(known, _)| ends(known));
    Some(match known {
        Some((known, FieldForm::Text)) => list_of(known, &format!("{SPEC}.{known}")),
        Some((known, FieldForm::Urn)) => urn(known),
        Some((_, FieldForm::BootDisk)) => {
            format!(
                "(has({SPEC}.disks) ? {SPEC}.disks.filter(d, has(d.boot) && d.boot && has(d.image)).map(d, d.image) : [])"
            )
        }
        None if ends(IMAGE) && image.matches(':').count() == 3 => urn(IMAGE),
        None if ends(IMAGE) => list_of(IMAGE, &format!("{SPEC}.{IMAGE}")),
        None => return None,
    })
}

/// A list of `value`, if the field is there.
fn list_of(field: &str, value: &str) -> String {
    let mut path = SPEC.to_owned();
    let mut has = Vec::new();
    for step in field.split('.') {
        path = format!("{path}.{step}");
        has.push(format!("has({path})"));
    }
    format!("({} ? [{value}] : [])", has.join(" && "))
}

fn urn(field: &str) -> String {
    let parts =
        ["publisher", "offer", "sku", "version"].map(|part| format!("{SPEC}.{field}.{part}"));
    let has = parts
        .each_ref()
        .map(|part| format!("has({part})"))
        .join(" && ");
    let value = parts.join(" + ':' + ");
    list_of(field, &value).replacen(" ? ", &format!(" && {has} ? "), 1)
}

/// ConfigMap, ValidatingAdmissionPolicy and binding, as YAML documents.
pub(crate) fn documents(images: &Images, mode: Mode) -> String {
    let actions = match mode {
        Mode::Enforce => json!(["Deny"]),
        Mode::Warn | Mode::None => json!(["Warn", "Audit"]),
    };
    let fields: Vec<&str> = images.fields.iter().map(String::as_str).collect();
    let named = if fields.is_empty() {
        "[]".to_owned()
    } else {
        fields.join(" + ")
    };
    let data = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "skewguard-refused-images", "namespace": "skewguard" },
        "data": { "images": images.list() }
    });
    // What the API server would default is written out, so that applying it again changes nothing.
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": NAME },
        "spec": {
            "failurePolicy": "Ignore",
            "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
            "matchConstraints": {
                "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
                "resourceRules": [
                    { "apiGroups": ["machine.openshift.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["machines"], "scope": "*" },
                    { "apiGroups": ["infrastructure.cluster.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE"], "scope": "*",
                        "resources": ["awsmachines", "azuremachines", "gcpmachines", "ibmpowervsmachines", "ibmvpcmachines", "metal3machines",
                            "nutanixmachines", "openstackmachines", "vspheremachines"] }
                ]
            },
            "variables": [
                { "name": "spec", "expression": "object.kind != 'Machine' ? (has(object.spec) ? dyn(object.spec) : dyn({})) : \
                    has(object.spec) && has(object.spec.providerSpec) && has(object.spec.providerSpec.value) ? dyn(object.spec.providerSpec.value) : dyn({})" },
                { "name": "images", "expression": named },
                { "name": "refused", "expression": "has(params.data) && has(params.data.images) ? params.data.images.split('\\n').filter(line, \
                    variables.images.exists(image, line.startsWith(image + '\\t'))) : []" },
                { "name": "letThrough", "expression": format!("has(object.metadata.annotations) && '{ALLOW}' in object.metadata.annotations") }
            ],
            "validations": [{
                "expression": "size(variables.refused) == 0 || variables.letThrough",
                "messageExpression": "variables.refused[0].split('\\t')[1]",
                "message": "the boot image is refused by the skew policy"
            }],
            "auditAnnotations": [{
                "key": "let-through",
                "valueExpression": "size(variables.refused) > 0 && variables.letThrough ? variables.refused[0].split('\\t')[0] : ''"
            }]
        }
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": NAME },
        "spec": {
            "policyName": NAME, "validationActions": actions,
            "paramRef": { "name": "skewguard-refused-images", "namespace": "skewguard", "parameterNotFoundAction": "Allow" }
        }
    });
    [data, policy, binding]
        .map(|object| yaml(&object))
        .join("---\n")
}
