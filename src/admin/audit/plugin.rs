//! The exec plugins of kubeconfigs: programs that print credentials.

use super::fields::{list_at, str_at};
use crate::child;
use crate::kubeconfig::{Tree, read_tree};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// How long a program may take to give credentials.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the program that `exec` of a user names (client-go, `clientcmd/api/v1`, `ExecConfig`), and
/// reads the ExecCredential that it prints (`pkg/apis/clientauthentication/v1`).
pub(super) fn credential(program: &str, exec: &Value) -> Result<Tree, String> {
    let api_version = str_at(exec, "/apiVersion").unwrap_or_default();
    if ![
        "client.authentication.k8s.io/v1",
        "client.authentication.k8s.io/v1beta1",
    ]
    .contains(&api_version)
    {
        return Err("its apiVersion is not supported: only v1 and v1beta1 of client.authentication.k8s.io are".to_owned());
    }
    if str_at(exec, "/interactiveMode") == Some("Always") {
        return Err("wants to ask (interactiveMode: Always), which is not supported: log in first, or use a token".to_owned());
    }
    if exec.get("provideClusterInfo") == Some(&Value::Bool(true)) {
        return Err(
            "wants to know the cluster (provideClusterInfo), which is not supported: use a token"
                .to_owned(),
        );
    }
    // An empty text is an argument, too.
    let text = |value: &Value, path: &str| {
        value
            .pointer(path)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let args: Option<Vec<String>> = list_at(exec, "/args")
        .iter()
        .map(|arg| text(arg, ""))
        .collect();
    let env: Option<Vec<(String, String)>> = list_at(exec, "/env")
        .iter()
        .map(|pair| text(pair, "/name").zip(text(pair, "/value")))
        .collect();
    let (Some(args), Some(env)) = (args, env) else {
        return Err("has an argument or a variable that is not text".to_owned());
    };
    let info = json!({ "apiVersion": api_version, "kind": "ExecCredential", "spec": { "interactive": false } });
    let mut command = Command::new(program);
    command
        .args(args)
        .envs(env)
        .env("KUBERNETES_EXEC_INFO", info.to_string());
    let said = child::run(&mut command, Instant::now() + PATIENCE).map_err(|error| match error
        .kind()
    {
        std::io::ErrorKind::TimedOut => {
            format!("did not end within {} seconds", PATIENCE.as_secs())
        }
        std::io::ErrorKind::Unsupported => error.to_string(),
        _ => format!("{error}; run it by hand to see why"),
    })?;
    let said = Zeroizing::new(said);
    let credential = read_tree(&said)
        .ok()
        .filter(|credential| credential.0.get("status").is_some_and(Value::is_object));
    let credential = credential.ok_or("did not print an ExecCredential with a status")?;
    if str_at(&credential.0, "/kind") != Some("ExecCredential")
        || str_at(&credential.0, "/apiVersion") != Some(api_version)
    {
        return Err(
            "did not print an ExecCredential of the apiVersion that the kubeconfig names"
                .to_owned(),
        );
    }
    Ok(credential)
}
