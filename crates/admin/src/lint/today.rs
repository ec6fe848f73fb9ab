//! The known issues of a policy beside those that this version ships: a policy keeps the issues of
//! the day that it was written.

use super::starter::{self, entry, read, shipped};
use crate::policy::fields::{KNOWN_ISSUE, POLICY};
use crate::policy::json::Located;
use crate::policy::{Effect, KnownIssue, parse};
use std::collections::HashSet;

/// Issues that were shipped once, and why they are not any more.
const WITHDRAWN: [(&str, &str); 1] = [(
    "ShimOlderThanKernelSigningKey",
    "4.22 updates the ESP before the rebase, and new nodes of such images joined (openshift/machine-config-operator#5868)",
)];

/// The issues that this version ships and a policy with these lacks. Those of OKD are for policies
/// that have one of them; the others are for all but those that have nothing else.
pub(super) fn lacking(ids: &HashSet<String>) -> Vec<String> {
    let [ocp, okd] = [starter::Cluster::Ocp, starter::Cluster::Okd].map(starter::known_issue_ids);
    let has = |shipped: &[String]| shipped.iter().any(|id| ids.contains(id));
    let is_for_okd = has(&okd);
    let mut shipped = Vec::new();
    if !is_for_okd || has(&ocp) {
        shipped.extend(ocp);
    }
    if is_for_okd {
        shipped.extend(okd);
    }
    shipped.retain(|id| !ids.contains(id));
    shipped
}

/// Difference of an issue from that of its name in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Difference {
    /// These of its fields say something else.
    Fields(Vec<&'static str>),
    /// It is not in the list any more; why.
    Withdrawn(&'static str),
}

impl Difference {
    /// Goes on after the issue's name.
    pub(crate) fn says(&self) -> String {
        match self {
            Self::Fields(fields) => {
                let fields = fields.join(", ");
                format!("differs in {fields} from the one that this version of skewguard ships")
            }
            Self::Withdrawn(why) => format!("is withdrawn: {why}"),
        }
    }
}

/// Compares an issue of a policy with today's. `None` where it is the same, the author's own, or
/// not understood.
pub(crate) fn difference(own: &KnownIssue) -> Option<Difference> {
    if let Some((_, why)) = WITHDRAWN.iter().find(|(id, _)| *id == own.id) {
        // An author who made a warning of it said so.
        let refuses = own.effect == Effect::Refuse;
        return refuses.then_some(Difference::Withdrawn(why));
    }
    let today = shipped().iter().find(|issue| issue.id == own.id)?;
    let (Ok(a), Ok(b)) = (&own.scope, &today.scope) else {
        return None;
    };
    let fields = [
        ("targets", a.targets != b.targets),
        ("images", a.images != b.images),
        ("when", a.when != b.when),
        ("affects", own.affects != today.affects),
        ("effect", own.effect != today.effect),
    ];
    let differ = fields.into_iter().filter(|(_, differs)| *differs);
    let differ: Vec<_> = differ.map(|(field, _)| field).collect();
    (!differ.is_empty()).then_some(Difference::Fields(differ))
}

/// The issue at `at`, and how it differs.
pub(super) fn difference_at(at: &Located<'_>) -> Option<Difference> {
    difference(read(&format!("[{}]", at.raw())).first()?)
}

/// A policy with today's issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refreshed {
    pub(crate) policy: String,
    /// The issues that differed, and how.
    pub(crate) changes: Vec<(String, Difference)>,
    /// The issues that it lacked.
    pub(crate) added: Vec<String>,
}

/// Takes today's entries into a policy, JSON, in place of those that differ and behind those that it
/// has, and leaves out those that are withdrawn. An empty list opts out, and stays. The rest of the
/// text stays as it is.
///
/// # Errors
/// It is not a policy, or its known issues are no list.
pub(crate) fn refresh(policy: &str) -> Result<Refreshed, String> {
    parse(policy.as_bytes())?;
    let whole = Located::whole(policy.as_bytes()).map_err(|error| error.to_string())?;
    let object = whole.object(POLICY).map_err(|error| error.to_string())?;
    let refreshed = match object.get("knownIssues") {
        None => with_list(policy, whole.span().end),
        Some(list) => with_items(policy, list.items().ok_or("knownIssues is no list")?),
    };
    parse(refreshed.policy.as_bytes())?;
    Ok(refreshed)
}

/// A policy without a list, whose closing brace is right before `end`, with all of them.
fn with_list(policy: &str, end: usize) -> Refreshed {
    let added = lacking(&HashSet::new());
    let entries: Vec<_> = added.iter().filter_map(|id| entry(id)).collect();
    let entries = entries.iter().map(|entry| indented(entry, "    "));
    let entries = entries.collect::<Vec<_>>().join(",\n    ");
    let (before, after) = policy
        .split_at_checked(end.saturating_sub(1))
        .unwrap_or_default();
    let before = before.trim_end();
    Refreshed {
        policy: format!("{before},\n  \"knownIssues\": [\n    {entries}\n  ]\n{after}"),
        changes: Vec::new(),
        added,
    }
}

fn with_items<'a>(policy: &str, list: impl Iterator<Item = Located<'a>>) -> Refreshed {
    let text = |from: usize, to: usize| policy.get(from..to).unwrap_or_default();
    // What stands before each item that stays, and it; and where the last item ended.
    let (mut parts, mut end) = (Vec::<(String, String)>::new(), None);
    let (mut ids, mut changes, mut head) = (HashSet::new(), Vec::new(), "");
    for item in list {
        let span = item.span();
        // The comma before an item goes with it; what stands before the first one stays.
        let before = text(end.unwrap_or(0), span.start);
        if end.is_none() {
            head = before;
        }
        let id = id(&item).unwrap_or_default();
        let difference = difference_at(&item);
        let kept = match &difference {
            Some(Difference::Withdrawn(_)) => None,
            Some(Difference::Fields(_)) => {
                entry(&id).map(|entry| indented(&entry, indentation(text(0, span.start))))
            }
            None => Some(text(span.start, span.end).to_owned()),
        };
        parts.extend(kept.map(|kept| (before.to_owned(), kept)));
        changes.extend(difference.map(|difference| (id.clone(), difference)));
        ids.insert(id);
        end = Some(span.end);
    }
    // An empty list opts out.
    let added = end.map_or_else(Vec::new, |_| lacking(&ids));
    let indent = indentation(head);
    let entries = added.iter().filter_map(|id| entry(id));
    parts.extend(entries.map(|entry| (format!(",\n{indent}"), indented(&entry, indent))));
    let mut refreshed = head.to_owned();
    for (n, (before, item)) in parts.iter().enumerate() {
        refreshed += if n == 0 { "" } else { before };
        refreshed += item;
    }
    Refreshed {
        policy: refreshed + text(end.unwrap_or(0), policy.len()),
        changes,
        added,
    }
}

/// The indentation of the line that a text ends in.
fn indentation(text: &str) -> &str {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    line.get(..indent).unwrap_or_default()
}

fn indented(entry: &str, indent: &str) -> String {
    entry.trim().replace("\n  ", &format!("\n{indent}"))
}

fn id(at: &Located<'_>) -> Option<String> {
    at.object(KNOWN_ISSUE).ok()?.get("id")?.string()
}
