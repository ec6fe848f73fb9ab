//! `when`: the conditions that narrow a limit or a known issue.

use super::fields::WHEN;
use super::json::Located;
use super::lenient::{field, names, not_understood, unknown};
use crate::platform::Platform;
use crate::version::OsFamily;

/// Conditions. All have to hold; an absent one holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When {
    /// Names as Ignition has them.
    pub platforms: Option<Vec<String>>,
    /// Names as `uname -m` has them.
    pub architectures: Option<Vec<String>>,
    /// On, without `architectures`, it is UEFI's alone: on IBM Z it would be secure IPL.
    pub secure_boot: Option<bool>,
    pub fips: Option<bool>,
    /// Of the boot image.
    pub os_families: Option<Vec<OsFamily>>,
    /// Tells whether the target is a release of OKD.
    pub okd: Option<bool>,
}

/// Facts that `when` asks for. `None` is unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circumstances<'a> {
    pub platform: Option<&'a str>,
    pub architecture: Option<&'a str>,
    pub secure_boot: Option<bool>,
    /// The node runs in FIPS mode, or will.
    pub fips: Option<bool>,
    pub family: Option<OsFamily>,
    pub okd: Option<bool>,
}

/// Tells whether something applies; the error says what is missing to tell.
pub type Applies = Result<bool, &'static str>;

/// Tells whether all of it applies. What does not decides, whatever else is unknown.
pub fn all(answers: impl IntoIterator<Item = Applies>) -> Applies {
    let mut known = Ok(true);
    for answer in answers {
        match answer {
            Ok(true) => {}
            Ok(false) => return answer,
            Err(_) => known = known.and(answer),
        }
    }
    known
}

impl When {
    /// Tells whether it holds on this node.
    pub fn holds(&self, node: Circumstances<'_>) -> Applies {
        let is_uefi = |own| matches!(own, "x86_64" | "aarch64");
        let secure_boot = match (self.secure_boot, &self.architectures, node.architecture) {
            (Some(true), None, Some(own)) if !is_uefi(own) => Ok(false),
            (wanted, ..) => holds(
                wanted.as_ref(),
                node.secure_boot,
                |wanted, on| *wanted == on,
                "it is unknown whether Secure Boot is on",
            ),
        };
        all([
            holds(
                self.platforms.as_ref(),
                node.platform,
                |names, own| names.iter().any(|name| one_name(name) == one_name(own)),
                "the platform is unknown",
            ),
            holds(
                self.architectures.as_ref(),
                node.architecture,
                |names, own| names.iter().any(|name| name.eq_ignore_ascii_case(own)),
                "the architecture is unknown",
            ),
            secure_boot,
            holds(
                self.fips.as_ref(),
                node.fips,
                |wanted, on| *wanted == on,
                "it is unknown whether the node is in FIPS mode",
            ),
            holds(
                self.os_families.as_ref(),
                node.family,
                |families, own| families.contains(&own),
                "the boot image's OS family is unknown",
            ),
            holds(
                self.okd.as_ref(),
                node.okd,
                |wanted, okd| *wanted == okd,
                "it is unknown whether the target is OKD",
            ),
        ])
    }
}

/// The same platform has several names: vmware, vsphere.
fn one_name(platform: &str) -> &str {
    Platform::named(platform).map_or(platform, |known| known.id())
}

/// Tells whether one condition holds.
fn holds<C, T>(
    condition: Option<&C>,
    own: Option<T>,
    is_met: impl FnOnce(&C, T) -> bool,
    why_not: &'static str,
) -> Applies {
    match condition {
        None => Ok(true),
        Some(condition) => own.map(|own| is_met(condition, own)).ok_or(why_not),
    }
}

/// Reads the conditions that are understood, and says what is not.
pub(super) fn when(at: &Located<'_>) -> (When, Option<String>) {
    let Ok(object) = super::lenient::object(at, WHEN) else {
        return (When::default(), Some(not_understood(at)));
    };
    let mut wrong = unknown(&object);
    let mut when = When::default();
    let names = |name| field(&object, name, names);
    let mut take = |read: Result<(), String>| {
        if let Err(why) = read {
            wrong.get_or_insert(why);
        }
    };
    take(names("platforms").map(|names| when.platforms = names));
    take(names("architectures").map(|names| when.architectures = names));
    take(field(&object, "secureBoot", Located::read).map(|on| when.secure_boot = on));
    take(field(&object, "fips", Located::read).map(|on| when.fips = on));
    take(field(&object, "osFamilies", os_families).map(|families| when.os_families = families));
    take(field(&object, "okd", Located::read).map(|okd| when.okd = okd));
    (when, wrong)
}

/// The families of a list. All have to be known.
fn os_families(at: &Located<'_>) -> Option<Vec<OsFamily>> {
    let words: Vec<String> = at.read()?;
    words.iter().map(|word| OsFamily::parse(word)).collect()
}
