//! The audit as SARIF 2.1.0, which GitHub shows beside the lines of a pull request (pure).

use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{InstalledFrom, SetAudit};
use crate::cli::audit::audit_request::{AuditRequest, release_of};
use crate::cli::audit::conclusion::{Conclusion, Conclusions};
use crate::cli::audit::facts::{FactKind, facts, head, is_said};
use crate::cli::audit::places::{Place, Places};
use crate::cli::audit::word::Word;
use crate::version::Release;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Characters that a path in a URI has not as they are.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b':');

/// The rule of a set that a later release would refuse: whoever dismisses it does not dismiss the
/// refusal.
const LATER: &str = "RefusedLater";

/// A run for each cluster. What is allowed is no result. `places` looks for the sets of a cluster.
pub(in crate::cli::audit) fn render(
    fleet: &FleetAudit,
    conclusions: &Conclusions,
    places: impl Fn(&[SetAudit]) -> Places,
) -> Value {
    let items = fleet.items.iter().zip(&conclusions.each);
    let runs: Vec<Value> = items
        .map(|(cluster, own)| run(cluster, own.as_ref(), &places))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": runs,
    })
}

fn run(
    cluster: &ClusterAudit,
    own: Option<&Conclusion>,
    places: impl Fn(&[SetAudit]) -> Places,
) -> Value {
    let audit = cluster.audit.iter();
    let sets = cluster.audit.as_ref().map_or(&[][..], |audit| &audit.sets);
    let places = places(sets);
    let sets = sets.iter();
    let sets = sets.filter(|set| is_said(set));
    let asked = own.map(|own| &own.asked);
    let sets = sets.map(|set| of_set(set, asked, places.place(set)));
    let sets: Vec<(&str, Value)> = sets.collect();
    let broken = audit.clone().flat_map(|audit| &audit.broken);
    let broken = broken.map(|nodes| of_installed(nodes, places.first()));
    let broken: Vec<(&str, Value)> = broken.collect();
    let mut rules: BTreeMap<&str, Value> = BTreeMap::new();
    let mut results = Vec::new();
    for (rule, result) in sets.into_iter().chain(broken) {
        rules.entry(rule).or_insert_with(|| {
            json!({ "id": rule, "shortDescription": { "text": rule }, "helpUri": crate::docs!("audit.md") })
        });
        results.push(result);
    }
    let error = cluster
        .error
        .iter()
        .map(|error| format!("not audited: {error}"));
    let unread = audit.clone().flat_map(|audit| &audit.unread);
    let unread = unread.map(ToString::to_string);
    let notes: Vec<Value> = error
        .chain(unread)
        .map(|text| json!({ "level": "error", "message": { "text": text } }))
        .collect();
    let about = cluster.audit.as_ref().map(head).unwrap_or_default();
    let about: BTreeMap<&str, String> = about.into_iter().collect();
    json!({
        "tool": { "driver": {
            "name": "oc skewguard audit",
            "version": env!("CARGO_PKG_VERSION"),
            "informationUri": crate::docs!("audit.md"),
            "rules": rules.into_values().collect::<Vec<_>>(),
        } },
        // The category, of which GitHub wants another one for each run.
        "automationDetails": { "id": format!("skewguard/{}", cluster.context) },
        "invocations": [{ "executionSuccessful": notes.is_empty(), "toolExecutionNotifications": notes }],
        "properties": about,
        "results": results,
    })
}

/// The rule and the result. A set that does not count is a note, and suppressed.
fn of_set<'a>(
    set: &'a SetAudit,
    asked: Option<&AuditRequest>,
    place: Option<Place>,
) -> (&'a str, Value) {
    let issue = set.known_issues.first();
    let rule = match issue {
        _ if !set.would_be_allowed() => set.reason.as_str(),
        Some(issue) => issue.id.as_str(),
        None => LATER,
    };
    let level = match Word::of(set) {
        _ if set.is_excepted() => "note",
        Word::Refused => "error",
        Word::Unknown => "warning",
        Word::Allowed => "note",
    };
    let name = set.row().title(None);
    let mut text = format!("{name}: ");
    let said = facts(set)
        .into_iter()
        .filter_map(|(kind, text)| match kind {
            FactKind::Image | FactKind::Members | FactKind::Nodes | FactKind::Note => None,
            FactKind::Why | FactKind::Later | FactKind::Excepted => Some(text),
            _ => Some(format!("{}: {text}", kind.label())),
        });
    // The audit of that release has the remedy.
    let from = set
        .refused_from
        .as_deref()
        .and_then(release_of)
        .map(Release::short);
    let later = from.zip(asked);
    let later = later.map(|(from, asked)| {
        let command = asked.command(Some(&from));
        format!("what to change then: {command}")
    });
    text += &said.chain(later).collect::<Vec<_>>().join("\n");
    let result = json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": text },
        "locations": [location(&name, place)],
        "partialFingerprints": { "skewguardSet/v1": format!("{}/{}/{}", set.kind, set.namespace, set.row_name()) },
    });
    let exception = set.exception.as_ref().filter(|_| set.is_excepted());
    let suppressions = exception
        .map(|exception| json!([{ "kind": "external", "justification": exception.says() }]));
    (rule, with(result, "suppressions", suppressions))
}

/// The name of what a result is about, and its place.
fn location(name: &str, place: Option<Place>) -> Value {
    let location =
        json!({ "logicalLocations": [{ "fullyQualifiedName": name, "kind": "resource" }] });
    let physical = place.map(|place| {
        json!({
            "artifactLocation": { "uri": uri(&place.file) },
            "region": { "startLine": place.line },
        })
    });
    with(location, "physicalLocation", physical)
}

/// An object with one more field, where there is something to say: no field is null.
fn with(mut object: Value, name: &str, field: Option<Value>) -> Value {
    if let (Some(fields), Some(field)) = (object.as_object_mut(), field) {
        fields.insert(name.to_owned(), field);
    }
    object
}

/// Joined nodes have no line to correct.
fn of_installed(nodes: &InstalledFrom, place: Option<Place>) -> (&str, Value) {
    let level = if nodes.to_know.is_none() {
        "warning"
    } else {
        "note"
    };
    let result = json!({
        "ruleId": nodes.issue,
        "level": level,
        "message": { "text": nodes.says() },
        "locations": [location(&nodes.title(), place)],
    });
    (&nodes.issue, result)
}

/// A path as a URI: GitHub wants it relative to the repository.
fn uri(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let text = text.trim_start_matches("./");
    let encoded = utf8_percent_encode(text, NOT_IN_PATHS);
    if path.is_absolute() {
        format!("file://{encoded}")
    } else {
        encoded.to_string()
    }
}
