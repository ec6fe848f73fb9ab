//! The names of a policy's fields. Tests hold them against the reading and the JSON Schema.

/// Of the policy.
pub(super) const POLICY: &[&str] = &["apiVersion", "kind", "mode", "onUndetermined", "limits", "help"];

/// Of `help`.
pub(super) const HELP: &[&str] = &["text", "url"];

/// Of an entry of `limits`: first whom it is for, then its rules.
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

/// The rules of a limit, which come after the two selectors.
pub(super) fn rules() -> &'static [&'static str] {
    LIMIT.get(2..).unwrap_or_default()
}

/// Of an entry of `deniedVersions`.
pub(super) const DENIED: &[&str] = &["version", "reason"];

/// All, each with where it stands.
pub(super) const ALL: &[(&[&str], &str)] =
    &[(POLICY, "the policy itself"), (LIMIT, "an entry of limits"), (HELP, "help"), (DENIED, "an entry of deniedVersions")];
