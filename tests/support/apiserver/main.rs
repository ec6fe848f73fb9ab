//! The test API server as a program, for tests that are not Rust: machines that boot, shell
//! scripts, a developer's own try.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

#[path = "mod.rs"]
mod apiserver;

use apiserver::{ApiServer, Fault, Key, Options, Tls, Validity};
use clap::Parser;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Serves the few calls that skewguard makes of a cluster, over real TLS, checks every body, and
/// logs what it saw.
///
/// Writes into DIR: kubeconfig (bootstrap identity, a bearer token), kubelet.kubeconfig and
/// kubelet-client-current.pem, admin.kubeconfig, ca.crt, and requests.jsonl, one line per request.
/// Prints `ready URL` once it can be asked. Ends with SIGTERM.
#[derive(Debug, Parser)]
struct Args {
    /// Address and port; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where the kubeconfigs and requests.jsonl go; made if missing.
    #[arg(long)]
    dir: PathBuf,
    /// Host that the kubeconfigs name and the certificate is for, such as 10.0.2.2 for a QEMU
    /// guest.
    #[arg(long, default_value = "127.0.0.1")]
    public_address: String,
    /// Another name for the certificate; may be repeated.
    #[arg(long)]
    server_name: Vec<String>,
    /// The Node that has joined.
    #[arg(long, default_value = "worker-0")]
    node: String,
    /// Refuse connections for so many seconds.
    #[arg(long, default_value_t = 0)]
    refuse_for: u64,
    /// A fault for the next connection or request; may be repeated, each is used once, in order.
    /// One of: reset-connection, silent-connection, plain-http, garbage, close, reset, hang, drip,
    /// huge, page, redirect, or a status such as 503 or 429:Retry-After=7.
    #[arg(long)]
    fault: Vec<Fault>,
    /// The CRD is not installed.
    #[arg(long)]
    no_crd: bool,
    /// The Roles are not installed: every request of the bootstrap identity is a 403.
    #[arg(long)]
    no_grant: bool,
    /// The directory with crd.yaml, role.yaml and quota.yaml, instead of dist/manifests/base.
    #[arg(long)]
    manifests: Option<PathBuf>,
    /// Server certificate: good, expired, not-yet-valid, wrong-name, unknown-ca, wrong-key.
    #[arg(long, default_value = "good", value_parser = validity)]
    certificate: Validity,
    /// Keys: p256, p384, rsa.
    #[arg(long, default_value = "p256", value_parser = key)]
    key: Key,
    /// TLS versions: any, 1.2, 1.3.
    #[arg(long, default_value = "any", value_parser = tls)]
    tls: Tls,
}

fn validity(text: &str) -> Result<Validity, String> {
    Ok(match text {
        "good" => Validity::Good,
        "expired" => Validity::Expired,
        "not-yet-valid" => Validity::NotYetValid,
        "wrong-name" => Validity::WrongName,
        "unknown-ca" => Validity::UnknownCa,
        "wrong-key" => Validity::WrongKey,
        _ => return Err("not one of the kinds of certificate".to_owned()),
    })
}

fn key(text: &str) -> Result<Key, String> {
    Ok(match text {
        "p256" => Key::P256,
        "p384" => Key::P384,
        "rsa" => Key::Rsa,
        _ => return Err("not one of the kinds of key".to_owned()),
    })
}

fn tls(text: &str) -> Result<Tls, String> {
    Ok(match text {
        "any" => Tls::Any,
        "1.2" => Tls::Only12,
        "1.3" => Tls::Only13,
        _ => return Err("not one of the versions".to_owned()),
    })
}

fn main() {
    let args = Args::parse();
    std::fs::create_dir_all(&args.dir).unwrap();
    let log = args.dir.join("requests.jsonl");
    std::fs::write(&log, "").unwrap();
    let server = ApiServer::start(Options {
        listen: args.listen,
        public: args.public_address,
        names: args.server_name,
        node: args.node,
        rate: None,
        refuse_for: Duration::from_secs(args.refuse_for),
        faults: args.fault,
        crd: !args.no_crd,
        granted: !args.no_grant,
        validity: args.certificate,
        key: args.key,
        tls: args.tls,
        log: Some(log),
        manifests: args.manifests.unwrap_or(Options::default().manifests),
        ..Options::default()
    });
    server.write_kubeconfigs(&args.dir);
    println!("ready {}", server.url());
    loop {
        std::thread::park();
    }
}
