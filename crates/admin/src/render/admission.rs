//! Refuses a Machine before it exists: a ValidatingAdmissionPolicy over the images that an audit
//! found to be refused (pure).
//!
//! The images and what is said of them are variables of the policy, not a ConfigMap as its parameter:
//! once no binding of a cluster has parameters of a core kind, its API servers read such parameters
//! no more until they start anew (kubernetes/kubernetes#130887), and nothing would be refused.
//! Every field may be absent, and an expression that fails lets the Machine through
//! (`failurePolicy: Ignore`): a mistake here must not keep a cluster from scaling up.

use crate::audit::results::AUDIT;
use crate::audit::{BootImageAudit, KnownBy, SetAudit, SetKind};
use crate::forms::yaml;
use crate::platform::Platform;
use crate::policy::Mode;
use crate::template::{Object, fill};
use crate::text::{cut, printable_up_to};
use crate::verdict::Outcome;
use serde_json::{Value, json};
use skewguard_cluster::kinds::platforms::{ImageField, URN, audit_row};
use std::collections::{BTreeMap, BTreeSet};

/// The most images that are refused.
const MAX_IMAGES: usize = 1000;

/// Longest name of an image, in characters.
const MAX_IMAGE: usize = 512;

/// Longest reason and fix, in characters: with [`ALLOW`] and what the API server says before them
/// (200 characters) the message stays below the 1,024 of an Event.
const MAX_MESSAGE: usize = 750;

/// In the place of a fix, where sets of one image have different ones.
const SEVERAL: &str = "`oc skewguard audit` has one for each set of this image";

/// Largest lists of images, in bytes. An object in etcd holds 1.5 MiB.
const MAX_LISTS: usize = 900 << 10;

/// Largest expression with a list, in bytes: the API server's parser takes 100,000 characters.
const MAX_EXPRESSION: usize = 64 << 10;

/// The annotation that lets one Machine through.
const ALLOW: &str = "skewguard.dev/allow-boot-image";

/// Place of the image: the policy's variable for a Machine's `providerSpec.value`, or for the spec
/// of an infrastructure machine.
const SPEC: &str = "variables.spec";

/// The kind of that; empty where the object does not say it.
const KIND: &str = "variables.kind";

/// The images that are refused, and where Machines name them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Images {
    /// Words about each.
    refusals: BTreeMap<String, Refusal>,
    /// The platforms that they are of.
    platforms: BTreeSet<Platform>,
    /// Parts of the audit that are not used, and why.
    pub(crate) left_out: Vec<String>,
    /// Refused sets that the audit excepts. Their images are denied all the same.
    pub(crate) excepted: Vec<String>,
    /// The release that the audit is for, and the cluster's own, where they are not known to be the
    /// same.
    pub(crate) releases: Option<(String, Option<String>)>,
}

/// Reason why an image is refused, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    why: String,
    fix: Option<String>,
}

impl Refusal {
    /// A printable line.
    fn message(&self) -> String {
        let fix = self.fix.as_ref().map(|fix| format!("; fix: {fix}"));
        let message = format!("{}{}", self.why, fix.unwrap_or_default());
        let message = cut(&printable_up_to(&message, MAX_MESSAGE), MAX_MESSAGE);
        format!("{message}; annotation {ALLOW} lets one Machine through")
    }
}

impl Images {
    pub(crate) fn len(&self) -> usize {
        self.refusals.len()
    }

    /// Images that an audit of a policy with this digest found to be refused.
    ///
    /// # Errors
    /// It is no audit, or one of some sets alone, of another policy or of another release than the cluster's (unless
    /// `of_any_release`), it refuses an image of the cluster's own (unless `denies_own`), or there are
    /// too many images. The text says what to do.
    pub(crate) fn from_audit(
        json: &[u8],
        digest: &str,
        of_any_release: bool,
        denies_own: bool,
    ) -> Result<Self, String> {
        let no_audit = "is not what `oc skewguard audit -o json` prints";
        let json: Value =
            serde_json::from_slice(json).map_err(|error| format!("{no_audit}: {error}"))?;
        if json.get("kind").and_then(Value::as_str) != Some(AUDIT) {
            return Err(no_audit.to_owned());
        }
        let audit: BootImageAudit =
            serde_json::from_value(json).map_err(|error| format!("{no_audit}: {error}"))?;
        if audit.policy.and_then(|policy| policy.digest).as_deref() != Some(digest) {
            return Err(
                "the audit was made with another policy; make it again with this one".to_owned(),
            );
        }
        let (shown, all) = (audit.sets.len(), audit.summary.rows.sets);
        if shown < all {
            return Err(format!(
                "the audit shows {shown} of {all} rows; make it again without --only, --since, -n and names of sets"
            ));
        }
        let own = audit.origin.release;
        let releases = audit.release.map(|asked| (asked, own));
        let releases = releases.filter(|(asked, own)| Some(asked) != own.as_ref());
        if let Some((asked, Some(own))) = releases.as_ref().filter(|_| !of_any_release) {
            return Err(format!(
                "the audit is for {}, and the cluster is {}: Machines that its own limits allow would be denied. \
                 Make the audit again without --target, or say --any-release",
                short(asked),
                short(own)
            ));
        }
        let images = Self {
            releases,
            ..Self::of_sets(&audit.sets)
        };
        if !denies_own {
            images.spare_own(&audit.sets)?;
        }
        let lists: usize = images.lists().iter().map(String::len).sum();
        if images.len() > MAX_IMAGES || lists > MAX_LISTS {
            return Err(format!(
                "{} images are refused; at most {MAX_IMAGES}, and {} KiB, fit. Correct the machine sets first, the oldest images at the front",
                images.len(),
                MAX_LISTS >> 10
            ));
        }
        Ok(images)
    }

    fn of_sets(sets: &[SetAudit]) -> Self {
        let is_refused = |set: &&SetAudit| set.verdict == Outcome::Refused;
        let (refused, others): (Vec<_>, Vec<_>) = sets.iter().partition(is_refused);
        let others = others.iter().filter_map(|set| set.image.as_deref());
        let others: BTreeSet<&str> = others.collect();
        let mut images = Self::default();
        let left_out = refused
            .iter()
            .filter_map(|set| images.add(set, &others).err());
        let left_out: BTreeSet<String> = left_out.collect();
        images.left_out = left_out.into_iter().collect();
        images
    }

    /// # Errors
    /// An image of the cluster's own release is refused.
    fn spare_own(&self, sets: &[SetAudit]) -> Result<(), String> {
        let is_own = |set: &&SetAudit| {
            let image = set.image.as_ref();
            set.known_by == KnownBy::ConfigMap
                && image.is_some_and(|image| self.refusals.contains_key(image))
        };
        let Some(set) = sets.iter().find(is_own) else {
            return Ok(());
        };
        let image = set.image.as_deref().unwrap_or_default();
        let version = set.boot_image.as_ref();
        let version = version.map_or("unknown", |image| image.version.as_str());
        Err(format!(
            "it refuses {} ({}), the image of the cluster's own release (ConfigMap coreos-bootimages): no machine could be made from it any more. \
             Correct the policy, or say --deny-own",
            short(image),
            short(version)
        ))
    }

    /// The platform of a set whose image can be named in a list.
    fn platform(
        set: &SetAudit,
        image: &String,
        others: &BTreeSet<&str>,
    ) -> Result<Platform, String> {
        let field = set.image_field.as_deref().unwrap_or_default();
        let shown = printable_up_to(image, MAX_IMAGE);
        let platform = set.platform.as_deref().and_then(Platform::named);
        // A NodePool's field may end like a Machine's (Power VS).
        let platform = platform
            .filter(|platform| set.kind != SetKind::NodePool && audit_row(*platform).has(field));
        let why = match (set.known_by, platform) {
            (KnownBy::InstalledRelease, _) => "{image}: its version is an estimate",
            (KnownBy::Report, _) => "{image}: a report alone says what it is, which is a claim",
            _ if set.made_from_another => {
                "{image}: the Machines that name it were made from another image"
            }
            _ if image.len() >= MAX_IMAGE => "an image whose name is too long: {image}",
            _ if shown != *image || image.is_empty() => {
                "an image with a name that is not plain text: {image}"
            }
            _ if others.contains(image.as_str()) => "{image}: another set may use it",
            (_, Some(platform)) => return Ok(platform),
            (_, None) => "{image}: no Machine has its field",
        };
        Err(fill(why, &[("image", &short(image))]))
    }

    fn add(&mut self, set: &SetAudit, others: &BTreeSet<&str>) -> Result<(), String> {
        let (Some(image), Some(_)) = (&set.image, &set.image_field) else {
            return Err("sets whose image is not named".to_owned());
        };
        self.platforms.insert(Self::platform(set, image, others)?);
        let version = set
            .boot_image
            .as_ref()
            .map(|boot_image| format!(" ({})", boot_image.version))
            .unwrap_or_default();
        let why = format!(
            "boot image {}{version} is refused by the skew policy: {}",
            cut(image, 100),
            set.message
        );
        let fix = set.remedy.clone();
        if set.is_excepted() {
            self.excepted.push(short(&set.row().title(None)));
        }
        let refusal = self.refusals.entry(image.clone());
        let refusal = refusal.or_insert_with(|| Refusal {
            why,
            fix: fix.clone(),
        });
        if refusal.fix != fix {
            refusal.fix = Some(SEVERAL.to_owned());
        }
        Ok(())
    }

    /// Expressions for maps from images to messages; at least one. All of it is printable.
    fn lists(&self) -> Vec<String> {
        let mut lists = vec![String::new()];
        for (image, refusal) in &self.refusals {
            // JSON's texts are texts of CEL.
            let entry = format!("{}: {}", json!(image), json!(refusal.message()));
            match lists.last_mut() {
                Some(list) if list.is_empty() => *list = entry,
                Some(list) if list.len() + entry.len() < MAX_EXPRESSION => {
                    *list += &format!(", {entry}");
                }
                _ => lists.push(entry),
            }
        }
        lists.iter().map(|list| format!("{{{list}}}")).collect()
    }
}

/// The beginning of a text, printable.
fn short(text: &str) -> String {
    cut(&printable_up_to(text, 100), 100)
}

/// The expression for the list of images that a machine of this platform names: none or one.
fn named(platform: Platform) -> String {
    let fields = audit_row(platform);
    let kinds = platform.row().kinds.iter();
    let kinds: String = kinds
        .map(|begin| format!(" || {KIND}.startsWith('{begin}')"))
        .collect();
    format!(
        "({KIND} == ''{kinds} ? (object.kind == 'Machine' ? {} : {}) : [])",
        first(fields.provider_spec),
        first(fields.machine)
    )
}

/// A list of what the first of these fields says that is given.
fn first(fields: &[ImageField]) -> String {
    fields
        .iter()
        .rev()
        .fold("[]".to_owned(), |others, field| match field {
            ImageField::Text(path) => format!(
                "({} && {SPEC}.{path} != '' ? [{SPEC}.{path}] : {others})",
                has(path)
            ),
            ImageField::Urn(path) => {
                let parts = URN.map(|part| format!("{SPEC}.{path}.{part}"));
                let given: Vec<String> = parts
                    .iter()
                    .map(|part| format!("has({part}) && {part} != ''"))
                    .collect();
                let (given, urn) = (given.join(" && "), parts.join(" + ':' + "));
                format!("({} && {given} ? [{urn}] : {others})", has(path))
            }
            ImageField::BootDisk => format!(
                "(has({SPEC}.disks) && {SPEC}.disks != null ? {SPEC}.disks.filter(d, has(d.boot) && d.boot && \
                 has(d.image) && d.image != '').map(d, d.image) : {others})"
            ),
        })
}

/// Tells whether a path is there, and none of its steps null.
fn has(path: &str) -> String {
    let mut step = SPEC.to_owned();
    let mut all = Vec::new();
    for name in path.split('.') {
        step = format!("{step}.{name}");
        all.push(format!("has({step}) && {step} != null"));
    }
    all.join(" && ")
}

/// ValidatingAdmissionPolicy and binding, as YAML documents.
pub(crate) fn documents(images: &Images, mode: Mode) -> String {
    let named: Vec<String> = images.platforms.iter().map(|of| named(*of)).collect();
    let named = match named.is_empty() {
        true => "[]".to_owned(),
        false => named.join(" + "),
    };
    let (mut lists, mut refused) = (Vec::new(), Vec::new());
    for (n, list) in images.lists().iter().enumerate() {
        lists.push(Object::new(LIST, &[("list", list), ("n", &n)]));
        let list = format!("variables.list{n}");
        refused.push(format!(
            "variables.images.filter(image, image in {list}).map(image, string(image + '\\t' + {list}[image]))"
        ));
    }
    let mut policy = Object::new(
        include_str!("admission.yaml"),
        &[
            ("images", &named),
            ("refused", &refused.join(" + ")),
            ("allow", &ALLOW),
        ],
    );
    if let Some(Object::List(variables)) = policy.part("spec/variables") {
        variables.splice(3..3, lists);
    }
    let mut binding = Object::new(include_str!("admission-binding.yaml"), &[]);
    let actions: &[&str] = match mode {
        Mode::Enforce => &["Deny"],
        Mode::Warn | Mode::None => &["Warn", "Audit"],
    };
    binding.set("spec/validationActions", &actions);
    [policy, binding].map(|object| yaml(&object)).join("---\n")
}

/// The variable with a list of refused images.
const LIST: &str = "{ expression: '{list}', name: 'list{n}' }";
