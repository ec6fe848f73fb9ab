//! The page of an audit that HTML and Markdown both show: put together once, and written by a
//! template each (pure).

use super::facts::{
    BIRTHS, CLUSTER_COLUMNS, FactKind, cluster_cells, cluster_notes, cluster_word, facts, names,
    place, to_do,
};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, SetAudit};
use crate::cli::audit::conclusion::Conclusion;
use crate::cli::audit::word::Word;
use crate::verdict::BootImageStatus;
use serde_json::{Value, json};

/// The conclusion, and a row for each cluster.
pub(super) fn page(fleet: &FleetAudit, conclusion: &Conclusion) -> Value {
    let row = |cluster: &ClusterAudit| {
        json!({
            "word": cluster_word(cluster).lower(),
            "cells": cluster_cells(cluster),
            "notes": cluster_notes(cluster),
        })
    };
    json!({
        "alone": fleet.alone().is_some(),
        "conclusion": of_conclusion(conclusion, fleet.alone()),
        "columns": CLUSTER_COLUMNS,
        "clusters": fleet.items.iter().map(row).collect::<Vec<_>>(),
        "births_title": BIRTHS,
    })
}

pub(super) fn of_conclusion(conclusion: &Conclusion, audit: Option<&BootImageAudit>) -> Value {
    json!({
        "class": conclusion.readiness.word().lower(),
        "sentence": conclusion.sentence,
        "later": conclusion.later,
        "next": conclusion.next_shown(audit).map(|next| next.says()),
        "figures": conclusion.figures,
        "why": conclusion.why,
    })
}

/// Warnings, and what was not read.
pub(super) fn doubts(audit: &BootImageAudit) -> Vec<String> {
    let unread = audit.unread.iter().map(ToString::to_string);
    audit.warnings.iter().cloned().chain(unread).collect()
}

/// Things to do: the same remedy of several sets once, with the commands and files of each.
pub(super) fn things_to_do(audit: &BootImageAudit) -> Vec<Value> {
    let of = |(sets, what): (Vec<&SetAudit>, String)| {
        let facts = sets.iter().flat_map(|set| facts(set));
        let is_how = |(kind, _): &(FactKind, String)| {
            matches!(kind, FactKind::Command | FactKind::ForGit | FactKind::Patch)
        };
        json!({ "names": names(&sets), "what": what, "facts": facts.filter(is_how).collect::<Vec<_>>() })
    };
    to_do(audit).into_iter().map(of).collect()
}

pub(super) fn of_set(set: &SetAudit) -> Value {
    let pool = set.pool.as_ref().map(|pool| format!("pool {pool}"));
    json!({
        "word": Word::of(set).lower(),
        "kind": set.kind,
        "name": set.row().full_name(),
        "title": set.row().title(None),
        "place": place(set).into_iter().chain(pool.as_deref()).collect::<Vec<_>>().join(", "),
        "boot_image": set.boot_image.as_ref().map(of_image),
        "estimate": set.estimate.as_ref().map(|estimate| &estimate.ocp_version),
        "image": set.image,
        "known_from": set.known_from,
        "joined": set.joined(),
        "replicas": set.replicas,
        "message": set.message,
        "facts": facts(set),
    })
}

pub(super) fn of_image(image: &BootImageStatus) -> Value {
    json!({ "version": image.version, "systems": image.systems().join(", ") })
}

/// An object with the fields of another one.
pub(super) fn with(object: Value, more: Value) -> Value {
    match (object, more) {
        (Value::Object(mut fields), Value::Object(more)) => {
            fields.extend(more);
            Value::Object(fields)
        }
        (object, _) => object,
    }
}
