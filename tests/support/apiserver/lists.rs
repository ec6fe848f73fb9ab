//! Collections that are only ever read, page by page, as an administrator does: whatever objects a
//! test puts there.

use super::objects::Refusal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Default)]
pub struct Lists {
    /// By group, version and plural, such as `machine.openshift.io/v1beta1/machinesets` and
    /// `/v1/nodes`.
    collections: BTreeMap<String, Vec<Value>>,
    /// The logs of pods, by namespace and name.
    pub logs: BTreeMap<(String, String), String>,
    /// Plurals that may not be read; `pods/log` is one.
    pub forbidden: BTreeSet<String>,
    /// Plurals whose continue token expires once, and whether the answer has another.
    pub expires: BTreeMap<String, bool>,
    /// Plurals whose list never ends, and its token: `again` is the same one each time, `turns` two that
    /// take turns, `more` counts, with 5,000 new objects a page, else it counts, and the pages are empty.
    pub endless: BTreeMap<String, String>,
}

impl Lists {
    /// Serves these objects, each by its `apiVersion` and kind.
    pub fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        // Without this the Node that has joined would be among them.
        let collections = BTreeMap::from([("/v1/nodes".to_owned(), Vec::new())]);
        let mut lists = Self {
            collections,
            ..Self::default()
        };
        for object in objects {
            let api_version = object["apiVersion"].as_str().unwrap();
            let group_and_version = if api_version.contains('/') {
                api_version.to_owned()
            } else {
                format!("/{api_version}")
            };
            let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
            lists
                .collections
                .entry(format!("{group_and_version}/{plural}"))
                .or_default()
                .push(object);
        }
        lists
    }

    /// Serves these objects, too.
    pub fn extend(&mut self, objects: impl IntoIterator<Item = Value>) {
        for (key, objects) in Self::of(objects).collections {
            self.collections.entry(key).or_default().extend(objects);
        }
    }

    /// The answer to a GET, if it is for one of these collections or their discovery.
    pub fn answer(&mut self, uri: &str, accept: &str) -> Option<Result<Value, Refusal>> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let path = path.strip_prefix("/apis/").or_else(|| {
            path.strip_prefix("/api")
                .map(|_| path.trim_start_matches("/api"))
        })?;
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            [group] => self.group(group),
            [group, version] if !group.is_empty() => self.version(group, version),
            [group, version, plural] => self.list(
                &format!("{group}/{version}/{plural}"),
                plural,
                query,
                accept,
            ),
            [group, version, "namespaces", namespace, plural] => {
                let key = format!("{group}/{version}/{plural}");
                let within = self.collections.get(&key)?.iter();
                let within = within.filter(|object| object["metadata"]["namespace"] == **namespace);
                let mut lists = Self {
                    collections: BTreeMap::from([(key.clone(), within.cloned().collect())]),
                    forbidden: self.forbidden.clone(),
                    ..Self::default()
                };
                lists.list(&key, plural, query, accept)
            }
            [_, _, "namespaces", namespace, "pods", name, "log"] => {
                if let Some(refusal) = self.is_forbidden("pods/log") {
                    return Some(Err(refusal));
                }
                let log = self
                    .logs
                    .get(&((*namespace).to_owned(), (*name).to_owned()))?;
                Some(Ok(Value::String(log.clone())))
            }
            [group, version, plural, name] | [group, version, "namespaces", _, plural, name] => {
                self.get(&format!("{group}/{version}/{plural}"), plural, name)
            }
            _ => None,
        }
    }

    fn group(&self, group: &str) -> Option<Result<Value, Refusal>> {
        let versions: BTreeSet<&str> = self
            .collections
            .keys()
            .filter_map(|key| key.strip_prefix(&format!("{group}/"))?.split('/').next())
            .collect();
        let versions: Vec<Value> =
            versions.iter().rev().map(|version| json!({ "groupVersion": format!("{group}/{version}"), "version": version })).collect();
        let preferred = versions.first()?.clone();
        Some(Ok(
            json!({ "kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": versions, "preferredVersion": preferred }),
        ))
    }

    fn version(&self, group: &str, version: &str) -> Option<Result<Value, Refusal>> {
        let of = |(key, objects): (&String, &Vec<Value>)| {
            let plural = key.strip_prefix(&format!("{group}/{version}/"))?;
            let kind = objects.first()?["kind"].clone();
            let status = json!({ "name": format!("{plural}/status"), "kind": kind, "namespaced": true, "verbs": ["get"] });
            Some([
                json!({ "name": plural, "kind": kind, "namespaced": true, "verbs": ["get", "list"] }),
                status,
            ])
        };
        let resources: Vec<Value> = self.collections.iter().filter_map(of).flatten().collect();
        let list = json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{version}"), "resources": resources });
        (!resources.is_empty()).then_some(Ok(list))
    }

    fn is_forbidden(&self, plural: &str) -> Option<Refusal> {
        let message = format!(
            "{plural} is forbidden: User \"auditor\" cannot list resource \"{plural}\" at the cluster scope"
        );
        self.forbidden
            .contains(plural)
            .then_some(Refusal(403, "Forbidden", message))
    }

    fn get(&self, key: &str, plural: &str, name: &str) -> Option<Result<Value, Refusal>> {
        if let Some(refusal) = self.is_forbidden(plural) {
            return Some(Err(refusal));
        }
        self.collections
            .get(key)?
            .iter()
            .find(|object| object["metadata"]["name"] == name)
            .map(|object| Ok(object.clone()))
    }

    fn list(
        &mut self,
        key: &str,
        plural: &str,
        query: &str,
        accept: &str,
    ) -> Option<Result<Value, Refusal>> {
        if let Some(refusal) = self.is_forbidden(plural) {
            return Some(Err(refusal));
        }
        let objects = self.collections.get(key)?;
        if let Some(kind) = self.endless.get(plural) {
            let at = query.rsplit_once("continue=").map_or("", |(_, at)| at);
            let n: usize = at.parse().unwrap_or_default();
            let token = match kind.as_str() {
                "again" => kind.clone(),
                "turns" if at == "one" => "two".to_owned(),
                "turns" => "one".to_owned(),
                "more" => format!("{}", n + 1),
                _ => format!("{}", query.len()),
            };
            let named = |name: String| {
                let mut object = objects[0].clone();
                object["metadata"]["name"] = json!(name);
                object
            };
            let items: Vec<Value> = match kind.as_str() {
                "again" => objects.clone(),
                "turns" => vec![named(format!("s{}", query.len() % 9))],
                "more" => (0..5_000).map(|i| named(format!("s{n}-{i}"))).collect(),
                _ => Vec::new(),
            };
            return Some(Ok(
                json!({ "kind": "List", "apiVersion": "v1", "metadata": { "continue": token }, "items": items }),
            ));
        }
        let of = |name: &str| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        let limit: usize = of("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        let token = of("continue").map(|token| {
            percent_encoding::percent_decode_str(token)
                .decode_utf8()
                .unwrap()
                .into_owned()
        });
        if token.is_some()
            && let Some(goes_on) = self.expires.remove(plural)
        {
            let message =
                "The provided continue parameter is too old to display a consistent list result.";
            let next = if goes_on {
                token.unwrap()
            } else {
                String::new()
            };
            return Some(Err(Refusal(410, "Expired", format!("{message}\0{next}"))));
        }
        // Tokens of a real one have characters that a query must not have.
        let start: usize = token.map_or(0, |token| {
            token
                .strip_prefix("at=")
                .unwrap()
                .strip_suffix("&/+")
                .unwrap()
                .parse()
                .unwrap()
        });
        let end = start.saturating_add(limit).min(objects.len());
        let next = if end < objects.len() {
            format!("at={end}&/+")
        } else {
            String::new()
        };
        if accept.starts_with("application/json;as=Table;g=meta.k8s.io;v=v1") {
            return Some(Ok(node_table(&objects[start..end], &next)));
        }
        let only_metadata =
            accept.starts_with("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
        let shown = |object: &Value| match (only_metadata, key.starts_with('/')) {
            (true, _) => {
                json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
            }
            // Of the core's objects only the list has a kind.
            (_, true) => object
                .as_object()
                .unwrap()
                .iter()
                .filter(|(field, _)| *field != "kind" && *field != "apiVersion")
                .map(|(a, b)| (a.clone(), b.clone()))
                .collect(),
            (_, false) => object.clone(),
        };
        let items: Vec<Value> = objects[start..end].iter().map(shown).collect();
        let metadata = json!({ "resourceVersion": "1", "continue": next, "remainingItemCount": objects.len() - end });
        let (kind, api_version) = if only_metadata {
            ("PartialObjectMetadataList", "meta.k8s.io/v1")
        } else {
            ("List", "v1")
        };
        // A real one has null for an empty list of metadata alone.
        let items = json!((!only_metadata || !items.is_empty()).then_some(items));
        Some(Ok(
            json!({ "kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items }),
        ))
    }
}

/// Nodes as kube-apiserver prints them, with the first of its columns.
fn node_table(nodes: &[Value], next: &str) -> Value {
    let row = |node: &Value| {
        let conditions = node["status"]["conditions"].as_array();
        let ready = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition["type"] == "Ready");
        let status = match ready.and_then(|ready| ready["status"].as_str()) {
            Some("True") => "Ready",
            Some(_) => "NotReady",
            None => "Unknown",
        };
        json!({ "cells": [node["metadata"]["name"], status, "worker"], "object": null })
    };
    let column = |name: &str| json!({ "name": name, "type": "string", "format": "", "description": "", "priority": 0 });
    let columns: Vec<Value> = ["Name", "Status", "Roles"]
        .iter()
        .map(|name| column(name))
        .collect();
    json!({ "kind": "Table", "apiVersion": "meta.k8s.io/v1",
        "metadata": { "resourceVersion": "1", "continue": next },
        "columnDefinitions": columns,
        "rows": nodes.iter().map(row).collect::<Vec<_>>() })
}
