//! Programs that give credentials (client-go, `plugin/pkg/client/auth/exec`), run with a bound on what they
//! print.

use crate::file::cause;
use crate::trouble::{Help, Trouble};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube_client::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;
use std::io::Read;
use std::process::{Command, Stdio};
use zeroize::Zeroizing;

/// The most bytes that are read of what a program prints: a token, or a certificate and a key.
const MAX_PRINTED: u64 = 1 << 20;

#[derive(Deserialize)]
struct Credential {
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Puts what a program prints in its own place.
///
/// # Errors
/// It gives nothing. The text has nothing that it printed.
pub(super) fn give(user: &mut AuthInfo, exec: &ExecConfig) -> Result<(), Trouble> {
    let printed = run(exec)?;
    let read: Option<Credential> = serde_saphyr::from_slice(&printed).ok();
    let status = read.and_then(|read| read.status);
    let status = status.ok_or("did not print an ExecCredential with a status")?;
    let coded = |text: String| STANDARD.encode(Zeroizing::new(text).as_bytes());
    user.exec = None;
    user.token = status.token.map(Into::into);
    if let (Some(certificate), Some(key)) = (status.client_certificate_data, status.client_key_data)
    {
        user.client_certificate_data = Some(coded(certificate));
        user.client_key_data = Some(coded(key).into());
    }
    Ok(())
}

/// The output of a program.
fn run(exec: &ExecConfig) -> Result<Zeroizing<Vec<u8>>, Trouble> {
    let by_hand = |what: String| Help::RunByHand.after(what);
    let mut command = Command::new(exec.command.as_deref().unwrap_or_default());
    command.args(exec.args.iter().flatten());
    for variable in exec.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let asks = exec.interactive_mode != Some(ExecInteractiveMode::Never);
    let cluster = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info);
    let spec = match cluster {
        Some(cluster) => json!({ "interactive": asks, "cluster": cluster }),
        None => json!({ "interactive": asks }),
    };
    let info = json!({ "apiVersion": exec.api_version, "kind": "ExecCredential", "spec": spec });
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    for name in exec.drop_env.iter().flatten() {
        command.env_remove(name);
    }
    let own = || {
        if asks {
            Stdio::inherit()
        } else {
            Stdio::null()
        }
    };
    command.stdin(own()).stderr(own()).stdout(Stdio::piped());
    let failed = |error: std::io::Error| by_hand(cause(&error));
    let mut child = command.spawn().map_err(failed)?;
    let mut printed = Zeroizing::new(Vec::new());
    let out = child.stdout.take();
    let read = out.map(|out| out.take(MAX_PRINTED + 1).read_to_end(&mut printed));
    if printed.len() as u64 > MAX_PRINTED {
        let _ = child.kill();
        let _ = child.wait();
        return Err(by_hand(format!("printed more than {MAX_PRINTED} bytes")));
    }
    read.transpose().map_err(failed)?;
    let status = child.wait().map_err(failed)?;
    match status.success() {
        true => Ok(printed),
        false => Err(by_hand(status.to_string())),
    }
}
