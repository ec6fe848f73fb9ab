//! The kubeconfigs of whoever runs the audit, as `oc` has them: several files merged, a context,
//! and credentials from a program.
//!
//! The result is read like a node's own kubeconfig ([`crate::kubeconfig`]), which refuses auth
//! providers, passwords and impersonation. What a node never does is here, too: to go through a
//! proxy, and to trust the host's own list of CAs.

use super::fields::{list_at, str_at};
use super::{plugin, proxy};
use crate::kubeconfig::{Allow, Kubeconfig, MAX_BYTES, MISSING, Secret, Tree, of_tree, read_tree};
use crate::node::Root;
use crate::node::named::{name as named, read_start};
use crate::text::printable;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fmt::Display;
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Fields that name files, relative to the directory of the kubeconfig.
const FILES: [&str; 4] = [
    "certificate-authority",
    "client-certificate",
    "client-key",
    "tokenFile",
];

const REMEDY: &str =
    "name one with --kubeconfig, or objects that `oc get -o json` printed with --from";

/// What of the process decides how `oc` logs in.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The files of a pod's service account: `token` and `ca.crt`.
    pub service_account: &'a Path,
}

/// What was asked for on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    pub file: Option<&'a Path>,
    pub context: Option<&'a str>,
    /// The server's certificate is not checked.
    pub insecure: bool,
}

/// How to reach and to convince an API server.
#[derive(Debug)]
pub struct Login {
    pub kubeconfig: Kubeconfig,
    /// The name of the context; `None` in a pod.
    pub context: Option<String>,
    /// What an error of the connection may come from: the host's list of CAs, a proxy.
    pub by_way_of: Vec<String>,
}

/// Reads the kubeconfigs of `--kubeconfig`, else of `KUBECONFIG`, else `.kube/config` at home, and
/// what they name; asks the program of an exec plugin. Where there is none of these, and this is a
/// pod, its service account is used.
///
/// # Errors
/// One of these cannot be had or is not supported. The text names files and fields, never a value.
pub fn load(asked: Asked<'_>, around: Surroundings<'_>) -> Result<Login, String> {
    let (files, may_miss) = files(asked.file, around);
    let name = files
        .iter()
        .map(|file| named(file))
        .collect::<Vec<_>>()
        .join(":");
    let merged = read_all(&files, may_miss)?;
    let pod = || in_pod(around).filter(|_| asked.file.is_none() && asked.context.is_none());
    let (mut merged, name, is_pod) = match merged {
        Some(merged) => (merged, name, false),
        None => match pod() {
            Some(tree) => (tree, "the pod's service account".to_owned(), true),
            None if files.is_empty() => {
                return Err(format!("neither KUBECONFIG nor HOME is set: {REMEDY}"));
            }
            None => return Err(format!("{name}: {MISSING}: {REMEDY}")),
        },
    };
    let of_all = |what: String| format!("{name}: {what}");
    let context = choose(&mut merged.0, asked.context).map_err(of_all)?;
    let mut by_way_of = Vec::new();
    let proxy = prepare(&mut merged.0, asked.insecure, around, &mut by_way_of).map_err(of_all)?;
    let named = |file: &str| read(Path::new(file))?.ok_or_else(|| MISSING.to_owned());
    let allow = Allow {
        insecure: asked.insecure,
    };
    let mut kubeconfig = of_tree(&name, &merged, allow, &named).map_err(of_all)?;
    let from_environment = || proxy::of_environment(&kubeconfig.server, around.variable);
    let (proxy, said_by) = match proxy {
        Some(url) => (Some(url), "proxy-url"),
        None => (from_environment(), "HTTPS_PROXY"),
    };
    if let Some(url) = proxy {
        let url = proxy::checked(&url).map_err(|what| of_all(format!("{said_by}: {what}")))?;
        kubeconfig.proxy = Some(Secret::new(url.into_bytes()));
        by_way_of.push(format!("by the proxy that {said_by} names"));
    }
    Ok(Login {
        kubeconfig,
        context: context.filter(|_| !is_pod),
        by_way_of,
    })
}

/// The files to read, and whether some of them may be missing.
fn files(asked: Option<&Path>, around: Surroundings<'_>) -> (Vec<PathBuf>, bool) {
    let variable = |name| (around.variable)(name).filter(|value| !value.is_empty());
    match (asked, variable("KUBECONFIG"), variable("HOME")) {
        (Some(file), _, _) => (vec![file.to_owned()], false),
        (None, Some(list), _) => (
            std::env::split_paths(&list)
                .filter(|file| file != Path::new(""))
                .collect(),
            true,
        ),
        (None, None, Some(home)) => (vec![Path::new(&home).join(".kube/config")], true),
        (None, None, None) => (Vec::new(), true),
    }
}

/// What the files say together; `None` where there is none of them.
fn read_all(files: &[PathBuf], may_miss: bool) -> Result<Option<Tree>, String> {
    let mut merged = Tree(json!({ "clusters": [], "contexts": [], "users": [] }));
    let mut found = false;
    for file in files {
        let of_file = |what: &dyn Display| format!("{}: {what}", named(file));
        let absolute = std::path::absolute(file).map_err(|error| of_file(&error))?;
        let secret = if is_stream(file) {
            read_stream(file).map(Some)
        } else {
            read(&absolute)
        };
        match secret.map_err(|what| of_file(&what))? {
            Some(secret) => {
                let text =
                    std::str::from_utf8(secret.expose()).map_err(|_| of_file(&"is not UTF-8"))?;
                let tree = read_tree(text).map_err(|what| of_file(&what))?;
                merge(&mut merged.0, &tree.0, &absolute);
                found = true;
            }
            None if may_miss => {}
            None => return Err(of_file(&MISSING)),
        }
    }
    Ok(found.then_some(merged))
}

/// What a pod has (client-go, `rest.InClusterConfig`).
fn in_pod(around: Surroundings<'_>) -> Option<Tree> {
    let variable = |name| (around.variable)(name)?.into_string().ok();
    let host = variable("KUBERNETES_SERVICE_HOST").filter(|host| !host.is_empty())?;
    let port = variable("KUBERNETES_SERVICE_PORT").filter(|port| !port.is_empty())?;
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    let file = |name: &str| around.service_account.join(name);
    if !file("token").exists() {
        return None;
    }
    let path = |name| file(name).to_string_lossy().into_owned();
    Some(Tree(json!({
        "current-context": "pod",
        "clusters": [{ "name": "pod", "cluster": {
            "server": format!("https://{host}:{port}"), "certificate-authority": path("ca.crt") } }],
        "contexts": [{ "name": "pod", "context": { "cluster": "pod", "user": "pod" } }],
        "users": [{ "name": "pod", "user": { "tokenFile": path("token") } }],
    })))
}

/// Makes the context that was asked for the current one, and returns the name of that.
fn choose(merged: &mut Value, asked: Option<&str>) -> Result<Option<String>, String> {
    if let Some(asked) = asked {
        let names: Vec<&str> = list_at(merged, "/contexts")
            .iter()
            .filter_map(|context| str_at(context, "/name"))
            .collect();
        if !names.contains(&asked) {
            let has = match names.as_slice() {
                [] => "there is none".to_owned(),
                names => format!("there are {}", printable(&names.join(", "))),
            };
            return Err(format!(
                "--context {}: there is no such context; {has}",
                printable(asked)
            ));
        }
        set(merged, "current-context", json!(asked));
    }
    Ok(str_at(merged, "/current-context").map(printable))
}

/// Whether a person means something to read once: `-`, or a shell's `<(command)`.
fn is_stream(file: &Path) -> bool {
    #[cfg(unix)]
    if std::fs::metadata(file).is_ok_and(|about| about.file_type().is_fifo()) {
        return true;
    }
    file == Path::new("-")
}

fn read_stream(file: &Path) -> Result<Secret, String> {
    let secret = read_start(file, MAX_BYTES)
        .map(Secret::new)
        .map_err(|error| error.to_string())?;
    if secret.expose().len() as u64 > MAX_BYTES {
        return Err(format!("is larger than {MAX_BYTES} bytes"));
    }
    Ok(secret)
}

fn read(path: &Path) -> Result<Option<Secret>, String> {
    let root = Root::open(Path::new("/")).map_err(|error| error.to_string())?;
    root.read(&path.to_string_lossy(), MAX_BYTES)
        .map(|bytes| bytes.map(Secret::new))
        .map_err(|error| error.problem.to_string())
}

fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

/// Adds what `from`, the kubeconfig at `path`, has and `merged` has not. The first file that names
/// a thing wins, as for client-go.
fn merge(merged: &mut Value, from: &Value, path: &Path) {
    if let Some(kind) = from.get("kind") {
        set(merged, "kind", kind.clone());
    }
    let is_unset = merged
        .get("current-context")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty);
    if let Some(context) = from.get("current-context").filter(|_| is_unset) {
        set(merged, "current-context", context.clone());
    }
    for (list, inner) in [
        ("clusters", "cluster"),
        ("contexts", "context"),
        ("users", "user"),
    ] {
        let Some(entries) = from.get(list).and_then(Value::as_array) else {
            continue;
        };
        let Some(known) = merged.get_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        for entry in entries {
            if known
                .iter()
                .any(|known| known.get("name") == entry.get("name"))
            {
                continue;
            }
            let mut entry = entry.clone();
            if let Some(fields) = entry.get_mut(inner).and_then(Value::as_object_mut) {
                resolve(fields, path);
            }
            known.push(entry);
        }
    }
}

/// Makes the paths in an entry absolute.
fn resolve(fields: &mut Map<String, Value>, path: &Path) {
    let dir = path.parent().unwrap_or(path);
    let absolute = |file: &str| json!(dir.join(file).to_string_lossy());
    for field in FILES {
        if let Some(value) = fields.get_mut(field)
            && let Some(file) = value.as_str().filter(|file| !file.is_empty())
        {
            *value = absolute(file);
        }
    }
    // A command without a slash is looked for in PATH.
    if let Some(command) = fields
        .get_mut("exec")
        .and_then(|exec| exec.get_mut("command"))
        && let Some(file) = command.as_str().filter(|file| file.contains('/'))
    {
        *command = absolute(file);
    }
}

/// The name of the user or cluster of the current context, as errors show it.
fn name_of(merged: &Value, inner: &str) -> String {
    let current = merged.get("current-context");
    let name = list_at(merged, "/contexts")
        .iter()
        .find(|context| context.get("name") == current)
        .and_then(|context| str_at(context, &format!("/context/{inner}")));
    printable(name.unwrap_or_default())
}

/// The inner mapping of the entry that the current context names.
fn entry<'a>(merged: &'a mut Value, list: &str, inner: &str) -> Option<&'a mut Map<String, Value>> {
    let context = merged.get("current-context")?.clone();
    let of = |value: &Value, name: &Value| value.get("name") == Some(name);
    let name = merged
        .get("contexts")?
        .as_array()?
        .iter()
        .find(|entry| of(entry, &context))?
        .get("context")?
        .get(inner)?
        .clone();
    let entry = merged
        .get_mut(list)?
        .as_array_mut()?
        .iter_mut()
        .find(|entry| of(entry, &name))?;
    entry.get_mut(inner)?.as_object_mut()
}

/// Where lists of CAs are on a host, as Go looks for them (crypto/x509, `root_linux.go`).
const CA_LISTS: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The host's list of CAs, or the one that `SSL_CERT_FILE` names.
fn ca_list(around: Surroundings<'_>) -> Option<PathBuf> {
    match (around.variable)("SSL_CERT_FILE").filter(|file| !file.is_empty()) {
        Some(file) => std::path::absolute(file).ok(),
        None => CA_LISTS
            .iter()
            .map(PathBuf::from)
            .find(|file| file.exists()),
    }
}

/// Makes of a person's kubeconfig one that [`of_tree`] reads: the host's list of CAs where it names
/// none, the credentials that an exec plugin prints in place of that. Returns its `proxy-url`.
/// [`of_tree`] finds all other defects.
fn prepare(
    merged: &mut Value,
    insecure: bool,
    around: Surroundings<'_>,
    by_way_of: &mut Vec<String>,
) -> Result<Option<String>, String> {
    let mut proxy = None;
    if let Some(cluster) = entry(merged, "clusters", "cluster") {
        proxy = match cluster.remove("proxy-url") {
            Some(Value::String(url)) if !url.is_empty() => Some(url),
            _ => None,
        };
        trust(cluster, insecure, around, by_way_of)?;
    }
    log_in(merged)?;
    Ok(proxy)
}

/// Decides which server is trusted.
fn trust(
    cluster: &mut Map<String, Value>,
    insecure: bool,
    around: Surroundings<'_>,
    by_way_of: &mut Vec<String>,
) -> Result<(), String> {
    const FIELDS: [&str; 2] = ["certificate-authority", "certificate-authority-data"];
    if insecure {
        FIELDS.iter().for_each(|field| {
            cluster.remove(*field);
        });
        cluster.insert("insecure-skip-tls-verify".to_owned(), json!(true));
        return Ok(());
    }
    if cluster.get("insecure-skip-tls-verify") == Some(&json!(true)) {
        return Err("insecure-skip-tls-verify would send your credentials to any server that answers: remove it, and name the CA in \
                    certificate-authority (`oc login --certificate-authority=FILE` writes that), or run with --insecure-skip-tls-verify"
            .to_owned());
    }
    let is_set = |field: &&str| {
        cluster
            .get(*field)
            .is_some_and(|value| !value.is_null() && value != "")
    };
    if FIELDS.iter().any(is_set) {
        return Ok(());
    }
    if let Some(list) = ca_list(around) {
        let list = list.to_string_lossy().into_owned();
        by_way_of.push(format!(
            "the kubeconfig names no CA, so {} was trusted",
            printable(&list)
        ));
        cluster.insert("certificate-authority".to_owned(), json!(list));
    }
    Ok(())
}

/// Replaces an exec plugin by the credentials that it prints.
fn log_in(merged: &mut Value) -> Result<(), String> {
    let name = name_of(merged, "user");
    let Some(user) = entry(merged, "users", "user") else {
        return Ok(());
    };
    // As for client-go, a token or a certificate in the file wins over the plugin.
    let has_own = [
        "token",
        "tokenFile",
        "client-certificate",
        "client-certificate-data",
    ]
    .iter()
    .any(|field| user.contains_key(*field));
    let Some(exec) = user
        .remove("exec")
        .filter(|exec| !exec.is_null() && !has_own)
    else {
        return Ok(());
    };
    let program = str_at(&exec, "/command").unwrap_or_default();
    let given = plugin::credential(program, &exec)
        .map_err(|what| format!("users[{name}].user.exec: {}: {what}", printable(program)))?;
    let given = |field: &str| str_at(&given.0, &format!("/status/{field}"));
    let base64 = |field| given(field).map(|pem| STANDARD.encode(pem));
    let fields = [
        ("token", given("token").map(str::to_owned)),
        ("client-certificate-data", base64("clientCertificateData")),
        ("client-key-data", base64("clientKeyData")),
    ];
    user.extend(
        fields
            .into_iter()
            .filter_map(|(field, value)| Some((field.to_owned(), Value::String(value?)))),
    );
    Ok(())
}
