//! The one walk of a policy's schema: every field found, and its value read where it is understood. `parse` makes the policy of it, `lint` its
//! findings.

use super::json::{Items, Located, Object};
use super::{LimitRelease, MinimumOcp, OnUndetermined, RhcosBound};
use crate::version::{ImageVersion, OcpMinor, RhelVersion};
use serde_json::Error;

/// The kind of a policy.
pub(super) const KIND: &str = "BootImageSkewPolicy";

/// RHEL majors that CoreOS was ever built from, or may be while this version is in use.
pub(super) const RHEL_MAJORS: std::ops::Range<u16> = 7..40;

/// The fields of the policy.
pub(super) const POLICY: &[&str] = &["apiVersion", "kind", "mode", "onUndetermined", "limits", "help"];

/// The fields of `help`.
pub(super) const HELP: &[&str] = &["text", "url"];

/// The fields of an entry of `limits`: first whom it is for, then its rules.
pub(super) const LIMIT: &[&str] = &[
    "release",
    "pools",
    "minimumOCPVersion",
    "minimumRHCOSVersion",
    "maximumRHCOSVersion",
    "maximumReleasesBehind",
    "rhelMajors",
    "deniedVersions",
];

/// The fields of an entry of `deniedVersions`.
pub(super) const DENIED: &[&str] = &["version", "reason"];

/// A field that is there and not null.
pub(super) struct Field<'a, T> {
    pub(super) at: Located<'a>,
    /// `None` where it is not understood.
    pub(super) value: Option<T>,
}

impl<'a> Object<'a> {
    fn field<T>(&self, name: &str, read: impl FnOnce(&Located<'a>) -> Option<T>) -> Option<Field<'a, T>> {
        let at = self.get(name)?;
        Some(Field { value: read(&at), at })
    }

    fn word<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Field<'a, T>> {
        self.field(name, |at| read(&at.read::<String>()?))
    }

    fn text(&self, name: &str) -> Option<Field<'a, String>> {
        self.field(name, Located::read)
    }
}

/// The policy itself.
pub(super) struct PolicyDraft<'a> {
    pub(super) object: Object<'a>,
    pub(super) api_version: Option<Field<'a, String>>,
    pub(super) kind: Option<Field<'a, String>>,
    pub(super) mode: Option<Field<'a, String>>,
    pub(super) on_undetermined: Option<Field<'a, OnUndetermined>>,
    pub(super) limits: Option<Field<'a, Items<'a>>>,
    pub(super) help: Option<Field<'a, HelpDraft<'a>>>,
}

impl<'a> PolicyDraft<'a> {
    pub(super) fn read(at: &Located<'a>) -> Result<Self, Error> {
        let object = at.object(POLICY)?;
        let on_undetermined = |word: &str| match word {
            "Proceed" => Some(OnUndetermined::Proceed),
            "Refuse" => Some(OnUndetermined::Refuse),
            _ => None,
        };
        Ok(Self {
            api_version: object.text("apiVersion"),
            kind: object.text("kind"),
            mode: object.text("mode"),
            on_undetermined: object.word("onUndetermined", on_undetermined),
            limits: object.field("limits", Located::items),
            help: object.field("help", |at| HelpDraft::read(at).ok()),
            object,
        })
    }
}

/// `help`.
pub(super) struct HelpDraft<'a> {
    pub(super) object: Object<'a>,
    pub(super) text: Option<Field<'a, String>>,
    pub(super) url: Option<Field<'a, String>>,
}

impl<'a> HelpDraft<'a> {
    fn read(at: &Located<'a>) -> Result<Self, Error> {
        let object = at.object(HELP)?;
        Ok(Self { text: object.text("text"), url: object.text("url"), object })
    }
}

/// An entry of `limits`.
pub(super) struct LimitDraft<'a> {
    pub(super) object: Object<'a>,
    pub(super) release: Option<Field<'a, LimitRelease>>,
    pub(super) pools: Option<Field<'a, Vec<String>>>,
    pub(super) minimum_ocp: Option<Field<'a, MinimumOcp>>,
    pub(super) minimum_rhcos: Option<Field<'a, RhcosBound>>,
    pub(super) maximum_rhcos: Option<Field<'a, RhcosBound>>,
    pub(super) maximum_releases_behind: Option<Field<'a, u16>>,
    pub(super) rhel_majors: Option<Field<'a, Vec<u16>>>,
    pub(super) denied_versions: Option<Field<'a, Items<'a>>>,
}

impl<'a> LimitDraft<'a> {
    pub(super) fn read(at: &Located<'a>) -> Result<Self, Error> {
        let object = at.object(LIMIT)?;
        Ok(Self {
            release: object.word("release", limit_release),
            pools: object.field("pools", Located::read),
            minimum_ocp: object.word("minimumOCPVersion", minimum_ocp),
            minimum_rhcos: object.word("minimumRHCOSVersion", rhcos_bound),
            maximum_rhcos: object.word("maximumRHCOSVersion", rhcos_bound),
            maximum_releases_behind: object.field("maximumReleasesBehind", Located::read),
            // An empty list would refuse every image; nobody means that.
            rhel_majors: object.field("rhelMajors", |at| at.read().filter(|majors: &Vec<u16>| !majors.is_empty())),
            denied_versions: object.field("deniedVersions", Located::items),
            object,
        })
    }
}

/// An entry of `deniedVersions`.
pub(super) struct DeniedDraft<'a> {
    pub(super) object: Object<'a>,
    pub(super) version: Option<Field<'a, String>>,
    pub(super) reason: Option<Field<'a, String>>,
}

impl<'a> DeniedDraft<'a> {
    pub(super) fn read(at: &Located<'a>) -> Result<Self, Error> {
        let object = at.object(DENIED)?;
        Ok(Self { version: object.text("version"), reason: object.text("reason"), object })
    }
}

/// `x.y` or `x.y.z`, as the `release` of a limit.
fn limit_release(text: &str) -> Option<LimitRelease> {
    if text.bytes().filter(|b| *b == b'.').count() == 1 {
        text.parse().ok().map(LimitRelease::Minor)
    } else {
        text.parse().ok().map(LimitRelease::Exact)
    }
}

/// `x.y.z`, or `x.y` for `x.y.0`.
pub(super) fn minimum_ocp(text: &str) -> Option<MinimumOcp> {
    text.parse().or_else(|_| format!("{text}.0").parse()).ok().map(MinimumOcp)
}

/// RHEL `major.minor`, or a full RHCOS version.
///
/// An OCP release (`4.13`) and a beginning of a version (`413.92`) look like a RHEL release and are none: as one, the first would allow every
/// image and the second no image.
pub(super) fn rhcos_bound(text: &str) -> Option<RhcosBound> {
    // A RHEL release is written like an OCP one: two numbers.
    if let Ok(OcpMinor { major, minor }) = text.parse() {
        return RHEL_MAJORS.contains(&major).then_some(RhcosBound::Rhel(RhelVersion { major, minor: Some(minor) }));
    }
    let image = ImageVersion::parse(text);
    image.rhel().is_some().then_some(RhcosBound::Image(image))
}

#[cfg(all(test, feature = "author"))]
mod tests {
    use super::*;
    use crate::policy::SCHEMA;
    use std::collections::BTreeSet;

    #[test]
    fn the_schema_has_the_fields_that_are_read() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        for (pointer, names) in [("", POLICY), ("/$defs/limit", LIMIT), ("/$defs/help", HELP), ("/$defs/deniedVersion", DENIED)] {
            let properties = schema.pointer(&format!("{pointer}/properties")).unwrap().as_object().unwrap();
            let properties: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            assert_eq!(properties, names.iter().copied().collect(), "schema {pointer}");
        }
    }
}
