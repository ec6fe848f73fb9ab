//! The kubeconfigs of whoever runs the audit, as `oc` has them: several files merged, a context, and credentials from a program.
//!
//! The result is read like a node's own kubeconfig ([`crate::node::kubeconfig`]), which refuses auth providers, passwords, impersonation and
//! proxies, and never trusts the host's own list of CAs.

use super::kinds::{list_at, str_at};
use crate::child;
use crate::node::Root;
use crate::node::kubeconfig::{Allow, Kubeconfig, MAX_BYTES, MISSING, Secret, Tree, of_tree, read_tree};
use crate::text::printable;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// How long a program may take to give credentials.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fields that name files, relative to the directory of the kubeconfig.
const FILES: [&str; 4] = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/// Reads the kubeconfigs of `--kubeconfig`, else of `KUBECONFIG`, else `.kube/config` at home, and what they name; asks the program of
/// an exec plugin.
///
/// # Errors
/// One of these cannot be had or is not supported. The text names files and fields, never a value.
pub fn load(given: Option<&Path>, env: Option<OsString>, home: Option<OsString>, context: Option<&str>) -> Result<Kubeconfig, String> {
    let env = env.filter(|list| !list.is_empty());
    let home = home.filter(|home| !home.is_empty());
    // Of the files that `KUBECONFIG` names some may be missing.
    let (files, may_miss): (Vec<PathBuf>, bool) = match (given, env, home) {
        (Some(file), _, _) => (vec![file.to_owned()], false),
        (None, Some(list), _) => (std::env::split_paths(&list).filter(|file| file != Path::new("")).collect(), true),
        (None, None, Some(home)) => (vec![Path::new(&home).join(".kube/config")], false),
        (None, None, None) => return Err("neither KUBECONFIG nor HOME is set: name a --kubeconfig".to_owned()),
    };
    let name = files.iter().map(|file| printable(&file.to_string_lossy())).collect::<Vec<_>>().join(":");
    let mut merged = Tree(json!({ "clusters": [], "contexts": [], "users": [] }));
    let mut found = false;
    for file in &files {
        let of_file = |what: &dyn Display| format!("{}: {what}", printable(&file.to_string_lossy()));
        let absolute = std::path::absolute(file).map_err(|error| of_file(&error))?;
        match read(&absolute).map_err(|what| of_file(&what))? {
            Some(secret) => {
                let text = std::str::from_utf8(secret.expose()).map_err(|_| of_file(&"is not UTF-8"))?;
                merge(&mut merged.0, &read_tree(text).map_err(|what| of_file(&what))?.0, &absolute);
                found = true;
            }
            None if may_miss => {}
            None => return Err(of_file(&MISSING)),
        }
    }
    let of_all = |what: String| format!("{name}: {what}");
    if !found {
        return Err(of_all(MISSING.to_owned()));
    }
    if let Some(context) = context {
        set(&mut merged.0, "current-context", json!(context));
    }
    prepare(&mut merged.0).map_err(of_all)?;
    let named = |file: &str| read(Path::new(file))?.ok_or_else(|| MISSING.to_owned());
    of_tree(&name, &merged, Allow::default(), &named).map_err(of_all)
}

fn read(path: &Path) -> Result<Option<Secret>, String> {
    let root = Root::open(Path::new("/")).map_err(|error| error.to_string())?;
    root.read(&path.to_string_lossy(), MAX_BYTES).map(|bytes| bytes.map(Secret::new)).map_err(|error| error.problem.to_string())
}

fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

/// Adds what `from`, the kubeconfig at `path`, has and `merged` has not. The first file that names a thing wins, as for client-go.
fn merge(merged: &mut Value, from: &Value, path: &Path) {
    if let Some(kind) = from.get("kind") {
        set(merged, "kind", kind.clone());
    }
    let is_unset = merged.get("current-context").and_then(Value::as_str).is_none_or(str::is_empty);
    if let Some(context) = from.get("current-context").filter(|_| is_unset) {
        set(merged, "current-context", context.clone());
    }
    for (list, inner) in [("clusters", "cluster"), ("contexts", "context"), ("users", "user")] {
        let Some(entries) = from.get(list).and_then(Value::as_array) else { continue };
        let Some(known) = merged.get_mut(list).and_then(Value::as_array_mut) else { continue };
        for entry in entries {
            if known.iter().any(|known| known.get("name") == entry.get("name")) {
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
    if let Some(command) = fields.get_mut("exec").and_then(|exec| exec.get_mut("command"))
        && let Some(file) = command.as_str().filter(|file| file.contains('/'))
    {
        *command = absolute(file);
    }
}

/// The inner mapping of the entry that the current context names.
fn entry<'a>(merged: &'a mut Value, list: &str, inner: &str) -> Option<&'a mut Map<String, Value>> {
    let context = merged.get("current-context")?.clone();
    let of = |value: &Value, name: &Value| value.get("name") == Some(name);
    let name = merged.get("contexts")?.as_array()?.iter().find(|entry| of(entry, &context))?.get("context")?.get(inner)?.clone();
    let entry = merged.get_mut(list)?.as_array_mut()?.iter_mut().find(|entry| of(entry, &name))?;
    entry.get_mut(inner)?.as_object_mut()
}

/// Refuses `insecure-skip-tls-verify`, and replaces an exec plugin by the credentials that it prints. [`of_tree`] finds all other defects.
fn prepare(merged: &mut Value) -> Result<(), String> {
    let insecure = entry(merged, "clusters", "cluster").and_then(|cluster| cluster.get("insecure-skip-tls-verify").cloned());
    if insecure == Some(json!(true)) {
        return Err("insecure-skip-tls-verify would send your credentials to any server that answers: remove it, and name the CA in \
                    certificate-authority (`oc login --certificate-authority=FILE` writes that)"
            .to_owned());
    }
    let Some(user) = entry(merged, "users", "user") else { return Ok(()) };
    // As for client-go, a token or a certificate in the file wins over the plugin.
    let has_own = ["token", "tokenFile", "client-certificate", "client-certificate-data"].iter().any(|field| user.contains_key(*field));
    let Some(exec) = user.remove("exec").filter(|exec| !exec.is_null() && !has_own) else { return Ok(()) };
    let program = str_at(&exec, "/command").unwrap_or_default();
    let given = run(program, &exec).map_err(|what| format!("users[].user.exec: {}: {what}", printable(program)))?;
    let given = |field: &str| str_at(&given.0, &format!("/status/{field}"));
    let base64 = |field| given(field).map(|pem| STANDARD.encode(pem));
    let fields = [
        ("token", given("token").map(str::to_owned)),
        ("client-certificate-data", base64("clientCertificateData")),
        ("client-key-data", base64("clientKeyData")),
    ];
    user.extend(fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), Value::String(value?)))));
    Ok(())
}

/// Runs the program that `exec` of a user names (client-go, `clientcmd/api/v1`, `ExecConfig`), and reads the ExecCredential that it prints
/// (`pkg/apis/clientauthentication/v1`).
fn run(program: &str, exec: &Value) -> Result<Tree, String> {
    let api_version = str_at(exec, "/apiVersion").unwrap_or_default();
    if !["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"].contains(&api_version) {
        return Err("its apiVersion is not supported: only v1 and v1beta1 of client.authentication.k8s.io are".to_owned());
    }
    if str_at(exec, "/interactiveMode") == Some("Always") {
        return Err("wants to ask (interactiveMode: Always), which is not supported: log in first, or use a token".to_owned());
    }
    if exec.get("provideClusterInfo") == Some(&Value::Bool(true)) {
        return Err("wants to know the cluster (provideClusterInfo), which is not supported: use a token".to_owned());
    }
    // An empty text is an argument, too.
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let args: Option<Vec<String>> = list_at(exec, "/args").iter().map(|arg| text(arg, "")).collect();
    let env: Option<Vec<(String, String)>> =
        list_at(exec, "/env").iter().map(|pair| text(pair, "/name").zip(text(pair, "/value"))).collect();
    let (Some(args), Some(env)) = (args, env) else { return Err("has an argument or a variable that is no text".to_owned()) };
    let info = json!({ "apiVersion": api_version, "kind": "ExecCredential", "spec": { "interactive": false } });
    let mut command = Command::new(program);
    command.args(args).envs(env).env("KUBERNETES_EXEC_INFO", info.to_string());
    let said = child::run(&mut command, Instant::now() + PATIENCE).map_err(|error| match error.kind() {
        std::io::ErrorKind::TimedOut => format!("did not end within {} seconds", PATIENCE.as_secs()),
        _ => format!("{error}; run it by hand to see why"),
    })?;
    let said = Zeroizing::new(said);
    let credential = read_tree(&said).ok().filter(|credential| credential.0.get("status").is_some_and(Value::is_object));
    let credential = credential.ok_or("did not print an ExecCredential with a status")?;
    if str_at(&credential.0, "/kind") != Some("ExecCredential") || str_at(&credential.0, "/apiVersion") != Some(api_version) {
        return Err("did not print an ExecCredential of the apiVersion that the kubeconfig names".to_owned());
    }
    Ok(credential)
}
