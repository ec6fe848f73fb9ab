//! From a request to an answer: who, may they, what, and how it went.

use super::identity;
use super::objects::{Cluster, Refusal};
use super::rbac::{Action, Rbac};
use super::schema::Crd;
use serde_json::{Value, json};

/// A request, read whole.
pub struct Asked {
    pub method: String,
    /// Path and query.
    pub uri: String,
    pub content_type: String,
    pub accept: String,
    pub authorization: Option<String>,
    pub certificate: Option<Vec<u8>>,
    pub body: Vec<u8>,
}

/// What was answered, for the wire and for the log.
pub struct Answer {
    pub user: String,
    pub status: u16,
    /// An object, or a string that is sent as plain text.
    pub body: Value,
    pub remarks: Vec<String>,
}

/// A path of the API, taken apart.
struct Target<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
}

pub fn answer(cluster: &mut Cluster, rbac: &Rbac, asked: &Asked) -> Answer {
    if asked.uri == "/v1/node-failure" {
        return node_failure(asked);
    }
    let Ok(user) = identity::user(asked.authorization.as_deref(), asked.certificate.as_deref())
    else {
        let refusal = Refusal(401, "Unauthorized", "Unauthorized".to_owned());
        return refused("".to_owned(), refusal);
    };
    // Discovery is for everybody whom the server knows (`system:discovery`).
    if asked.method == "GET" && asked.uri == "/api" {
        return Answer {
            user,
            status: 200,
            body: json!({ "kind": "APIVersions", "versions": ["v1"] }),
            remarks: Vec::new(),
        };
    }
    match act(cluster, rbac, &user, asked) {
        Ok((status, body, remarks)) => Answer {
            user,
            status,
            body: as_accepted(&asked.accept, body),
            remarks,
        },
        Err(refusal) => refused(user, refusal),
    }
}

/// The Machine Config Server's answer to a failure, as machine-config-operator#6124 has it: it asks
/// for no identity, and for three fields.
fn node_failure(asked: &Asked) -> Answer {
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    let has = |key: &str| body[key].as_str().is_some_and(|text| !text.is_empty());
    let taken = asked.method == "POST"
        && asked.authorization.is_none()
        && ["pool", "nodeID", "stage"].into_iter().all(has);
    Answer {
        user: String::new(),
        status: if taken { 202 } else { 400 },
        body: json!({}),
        remarks: Vec::new(),
    }
}

/// What Go's net/http says where nothing serves a path, as that of a CRD that is not installed.
const NO_PATH: &str = "404 page not found\n";

fn refused(user: String, Refusal(code, reason, message): Refusal) -> Answer {
    if message == NO_PATH {
        return Answer {
            user,
            status: code,
            body: message.into(),
            remarks: Vec::new(),
        };
    }
    let (message, next) = message.split_once('\0').unwrap_or((&message, ""));
    let mut body = status_object(code, reason, message);
    if !next.is_empty() {
        body["metadata"]["continue"] = next.into();
    }
    Answer {
        user,
        status: code,
        body,
        remarks: Vec::new(),
    }
}

/// Only the metadata, where the client prefers that (Kubernetes, "Metadata-only fetches").
fn as_accepted(accept: &str, object: Value) -> Value {
    if !accept.starts_with("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1") {
        return object;
    }
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
}

/// A `Status` of meta/v1, as every failure of an API server is one.
pub fn status_object(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code,
    })
}

fn act(
    cluster: &mut Cluster,
    rbac: &Rbac,
    user: &str,
    asked: &Asked,
) -> Result<(u16, Value, Vec<String>), Refusal> {
    if asked.method == "GET"
        && user == identity::ADMIN_USER
        && let Some(answer) = cluster.lists.answer(&asked.uri, &asked.accept)
    {
        return answer.map(|object| (200, object, Vec::new()));
    }
    if user == identity::ADMIN_USER
        && let Some(answer) = cluster.applied.answer(asked)
    {
        return answer.map(|object| (200, object, Vec::new()));
    }
    let path = asked.uri.split('?').next().unwrap_or_default();
    let no_path = || Refusal(404, "NotFound", NO_PATH.to_owned());
    if let Some(discovered) = cluster.crd.as_ref().and_then(|crd| discovery(crd, path)) {
        return Ok((200, discovered, Vec::new()));
    }
    let target = take_apart(path).ok_or_else(no_path)?;
    let verb = match (asked.method.as_str(), target.name) {
        ("GET", None) => "list",
        ("GET", Some(_)) => "get",
        ("POST", None) => "create",
        ("PATCH", Some(_)) => "patch",
        ("DELETE", Some(_)) => "delete",
        _ => {
            return Err(Refusal(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource".to_owned(),
            ));
        }
    };
    // Authorization comes before everything that could tell whether a thing exists.
    let Target {
        group,
        resource,
        namespace,
        name,
        ..
    } = target;
    if !rbac.allows(
        user,
        Action {
            verb,
            group,
            resource,
            namespace,
            name,
        },
    ) {
        let wanted = format!("cannot {verb} resource \"{resource}\" in API group \"{group}\"");
        let place = namespace.map_or("at the cluster scope".to_owned(), |namespace| {
            format!("in the namespace \"{namespace}\"")
        });
        let object = name.map_or(String::new(), |name| format!(" \"{name}\""));
        return Err(Refusal(
            403,
            "Forbidden",
            format!("{resource}{object} is forbidden: User \"{user}\" {wanted} {place}"),
        ));
    }
    let served = match (group, target.version, resource) {
        ("events.k8s.io", "v1", "events") => namespace.is_some(),
        ("", "v1", "nodes" | "namespaces") => namespace.is_none(),
        _ => cluster.crd.as_ref().is_some_and(|crd| {
            (
                crd.group.as_str(),
                crd.version.as_str(),
                crd.plural.as_str(),
            ) == (group, target.version, resource)
        }),
    };
    if !served {
        return Err(no_path());
    }
    let namespace = namespace.unwrap_or_default();
    let of_kind = |cluster: &Cluster| cluster.stored.get(resource).cloned().unwrap_or_default();
    let key = (namespace.to_owned(), name.unwrap_or_default().to_owned());
    let missing = || {
        Refusal(
            404,
            "NotFound",
            format!("{resource} \"{}\" not found", key.1),
        )
    };
    match verb {
        "list" => {
            let all = cluster
                .stored
                .get(resource)
                .into_iter()
                .flatten()
                .filter(|((ns, _), _)| ns == namespace);
            let limit = query(&asked.uri, "limit")
                .and_then(|limit| limit.parse().ok())
                .unwrap_or(usize::MAX);
            // The token is the name of the page before's last object; that may be gone.
            let after = query(&asked.uri, "continue").unwrap_or_default();
            let mut rest = all.filter(|((_, name), _)| name.as_str() > after);
            let page: Vec<(&String, &Value)> = rest
                .by_ref()
                .take(limit)
                .map(|((_, name), object)| (name, object))
                .collect();
            let more = rest
                .next()
                .and(page.last())
                .map(|(name, _)| (*name).clone());
            let items: Vec<&Value> = page.iter().map(|(_, object)| *object).collect();
            let metadata = json!({ "continue": more.unwrap_or_default(), "resourceVersion": "1" });
            Ok((
                200,
                json!({ "kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items }),
                Vec::new(),
            ))
        }
        "get" => of_kind(cluster)
            .remove(&key)
            .map(|object| (200, object, Vec::new()))
            .ok_or_else(missing),
        "delete" => cluster
            .delete(resource, &key)
            .map(|object| (200, object, Vec::new()))
            .ok_or_else(missing),
        "create" => {
            let object = body(asked, &["application/json"])?;
            cluster
                .create(user, resource, namespace, object)
                .map(|(object, remarks)| (201, object, remarks))
        }
        _ => {
            let patch = body(
                asked,
                &[
                    "application/merge-patch+json",
                    "application/strategic-merge-patch+json",
                ],
            )?;
            let patched = match resource {
                "nodes" => cluster.patch_node(name.unwrap_or_default(), &patch),
                _ => cluster.patch_finalizers(resource, &key, &patch),
            };
            patched.map(|object| (200, object, Vec::new()))
        }
    }
}

/// What kubectl asks first: the groups, and the resources of each.
fn discovery(crd: &Crd, path: &str) -> Option<Value> {
    let version = format!("{}/{}", crd.group, crd.version);
    let preferred = json!({ "groupVersion": version, "version": crd.version });
    let verbs = ["create", "delete", "get", "list", "patch"];
    let resource = json!({ "name": crd.plural, "singularName": "bootimagereport", "namespaced": true, "kind": crd.kind, "verbs": verbs });
    let resources = |version: &str, resources: &[Value]| json!({ "kind": "APIResourceList", "groupVersion": version, "resources": resources });
    match path {
        "/api" => Some(json!({ "kind": "APIVersions", "versions": ["v1"] })),
        "/api/v1" => Some(resources("v1", &[])),
        "/apis" => {
            let group = json!({ "name": crd.group, "versions": [preferred], "preferredVersion": preferred });
            Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [group] }))
        }
        _ => (path.strip_prefix("/apis/") == Some(&version))
            .then(|| resources(&version, &[resource])),
    }
}

/// One parameter of a query.
fn query<'a>(uri: &'a str, name: &str) -> Option<&'a str> {
    uri.split_once('?')?
        .1
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn body(asked: &Asked, content_types: &[&str]) -> Result<Value, Refusal> {
    if !content_types.contains(&asked.content_type.as_str()) {
        let what = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            content_types.join(", ")
        );
        return Err(Refusal(415, "UnsupportedMediaType", what));
    }
    serde_json::from_slice(&asked.body).map_err(|error| {
        Refusal(
            400,
            "BadRequest",
            format!("the object provided is unrecognized: {error}"),
        )
    })
}

/// `/api/v1/…` and `/apis/GROUP/VERSION/…`.
fn take_apart(path: &str) -> Option<Target<'_>> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        _ => (None, rest),
    };
    match rest {
        [resource] => Some(Target {
            group,
            version,
            resource,
            namespace,
            name: None,
        }),
        [resource, name] => Some(Target {
            group,
            version,
            resource,
            namespace,
            name: Some(name),
        }),
        _ => None,
    }
}
