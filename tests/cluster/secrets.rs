//! Tokens and keys: in no argument, environment, file, error or `Debug`.

use crate::cluster::way::{block_on, bootstrap, both, event, failure, limits, loaded, transport};
use crate::support::apiserver::{ApiServer, BOOTSTRAP_TOKEN, Fault, Options};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use skewguard::transport::{Choice, Limits};
use std::path::PathBuf;
use std::time::Duration;

/// Our children that are curl and have a connection to this port. Other tests have theirs at the
/// same time.
pub(crate) fn curls_to(port: u16) -> Vec<PathBuf> {
    let own = std::process::id().to_string();
    // The third column is the other end, the tenth the inode of the socket (proc_net(5)).
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let lines = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let theirs = lines.filter(|line| line[2].ends_with(&format!(":{port:04X}")));
    let sockets: Vec<PathBuf> = theirs
        .map(|line| format!("socket:[{}]", line[9]).into())
        .collect();
    let is_ours = |path: &PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let parent = stat
            .rsplit(") ")
            .next()
            .unwrap_or_default()
            .split(' ')
            .nth(1);
        stat.contains("(curl)") && parent == Some(own.as_str())
    };
    let has_socket = |path: &PathBuf| {
        let files = std::fs::read_dir(path.join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        files
            .filter_map(|file| std::fs::read_link(file.path()).ok())
            .any(|file| sockets.contains(&file))
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(is_ours)
        .filter(has_socket)
        .collect()
}

#[test]
fn curl_has_no_secret_in_its_arguments_environment_or_files() {
    let server = ApiServer::start(Options {
        faults: vec![Fault::Hang],
        ..Options::default()
    });
    let pair = server.client("system:node:worker-0", "system:nodes");
    let (certificate, key) = (
        STANDARD.encode(&pair.certificate),
        STANDARD.encode(&pair.key),
    );
    let user = format!(
        "token: {BOOTSTRAP_TOKEN}\n    client-certificate-data: {certificate}\n    client-key-data: {key}"
    );
    let over = transport(
        Choice::Curl,
        &loaded(&server.kubeconfig(&user)),
        Limits::default(),
    );
    block_on(async {
        let request = event("e");
        let looked = async {
            while server.seen().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let process = curls_to(server.address.port())
                .pop()
                .expect("a curl that waits for its answer");
            let read = |name: &str| {
                String::from_utf8_lossy(&std::fs::read(process.join(name)).unwrap()).into_owned()
            };
            assert_eq!(read("cmdline"), "/usr/bin/curl\0--disable\0--config\0-\0");
            assert_eq!(read("environ"), "LC_ALL=C\0");
            // No file on a disk that it has open has a secret. Some are open because cargo's test
            // runner leaves its own to be inherited.
            for fd in std::fs::read_dir(process.join("fd")).unwrap().flatten() {
                let target = std::fs::read_link(fd.path())
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                if target.starts_with('/')
                    && !target.starts_with("/memfd:skewguard")
                    && fd.path().metadata().unwrap().is_file()
                {
                    let text =
                        String::from_utf8_lossy(&std::fs::read(fd.path()).unwrap()).into_owned();
                    assert!(
                        ![BOOTSTRAP_TOKEN, "PRIVATE KEY"]
                            .iter()
                            .any(|secret| text.contains(secret)),
                        "{target}"
                    );
                }
            }
        };
        tokio::select! {
            () = looked => {}
            answer = over.send(&request) => panic!("answered: {answer:?}"),
        }
    });
}

#[test]
fn no_error_and_no_debug_shows_a_secret() {
    let server = ApiServer::start(Options::default());
    let pair = server.client("system:node:worker-0", "system:nodes");
    let (certificate, key) = (
        STANDARD.encode(&pair.certificate),
        STANDARD.encode(&pair.key),
    );
    let user = format!(
        "token: {BOOTSTRAP_TOKEN}\n    client-certificate-data: {certificate}\n    client-key-data: {key}"
    );
    let kubeconfig = loaded(&server.kubeconfig(&user));
    let key_line = pair.key.lines().nth(1).unwrap();
    let secrets = [BOOTSTRAP_TOKEN, key_line, &key[60..120]];
    let mut said = vec![format!("{kubeconfig:?}")];
    for choice in both() {
        said.push(format!("{:?}", transport(choice, &kubeconfig, limits())));
        for fault in [
            Fault::ResetConnection,
            Fault::PlainHttp,
            Fault::Garbage,
            Fault::Close,
            Fault::Reset,
            Fault::Huge,
        ] {
            server.fault(fault);
            let failure = failure(choice, &kubeconfig, &event("e"));
            said.push(format!("{failure} {failure:?}"));
        }
    }
    for text in said {
        for secret in secrets {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn a_key_that_cannot_be_used_is_not_shown() {
    let server = ApiServer::start(Options::default());
    let pair = server.client("system:node:worker-0", "system:nodes");
    let other = server.client("system:node:worker-1", "system:nodes");
    // The key of another certificate, and a key that is no key.
    let broken = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode("no key at all, but 32 bytes long")
    );
    for key in [&other.key, &broken] {
        let (certificate, data) = (STANDARD.encode(&pair.certificate), STANDARD.encode(key));
        let kubeconfig = loaded(&server.kubeconfig(&format!(
            "client-certificate-data: {certificate}\n    client-key-data: {data}"
        )));
        let secret = key.lines().nth(1).unwrap();
        if cfg!(feature = "tls") {
            let tls = skewguard::transport::Transport::new(
                Choice::Tls,
                &kubeconfig,
                limits(),
                PathBuf::new(),
            )
            .unwrap_err();
            assert_eq!(
                tls.failure.to_string(),
                "the request could not be sent: the client certificate and key cannot be used: not a pair, or not RSA, P-256 or P-384"
            );
        }
        let curl = failure(Choice::Curl, &kubeconfig, &event("e")).to_string();
        assert!(
            curl.starts_with("the request could not be sent: curl: exit 58: ")
                && !curl.contains(secret),
            "{curl}"
        );
    }
    assert!(bootstrap(&server).token.is_some());
}

/// Every process below this one.
fn descendants(of: u32) -> Vec<u32> {
    let children = |parent: u32| {
        let threads = std::fs::read_dir(format!("/proc/{parent}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let lists = threads
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        lists
            .flat_map(|list| {
                list.split_whitespace()
                    .filter_map(|pid| pid.parse().ok())
                    .collect::<Vec<u32>>()
            })
            .collect::<Vec<_>>()
    };
    let mut all = vec![of];
    let mut next = 0;
    while let Some(process) = all.get(next) {
        all.extend(children(*process));
        next += 1;
    }
    all
}

fn files(dir: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn the_agent_leaves_no_secret_while_it_runs_nor_after() {
    for over in crate::cluster::node::transports() {
        let server = ApiServer::start(Options {
            faults: vec![Fault::Hang],
            ..Options::default()
        });
        let node = crate::cluster::node::Node::refused("worker-7", over);
        crate::cluster::target::bootstrap(&server, &node);
        let mut agent = node
            .command()
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while server.seen().is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let processes = descendants(agent.id());
        assert_eq!(
            processes.len(),
            if over == crate::cluster::node::Over::Curl {
                2
            } else {
                1
            },
            "{over:?}"
        );
        for process in processes {
            for file in ["cmdline", "environ"] {
                let bytes = std::fs::read(format!("/proc/{process}/{file}")).unwrap();
                assert!(
                    !String::from_utf8_lossy(&bytes).contains(BOOTSTRAP_TOKEN),
                    "{over:?} {file}"
                );
            }
        }
        agent.kill().unwrap();
        let said = agent.wait_with_output().unwrap().stderr;
        assert!(!String::from_utf8_lossy(&said).contains(BOOTSTRAP_TOKEN));
        // Runs to its end, so that everything it ever writes is there.
        let (said, status) = node.report();
        assert!(
            !said.contains(BOOTSTRAP_TOKEN) && status == 0,
            "{over:?}: {said}"
        );
        let written = files(&node.path(""));
        assert!(
            written
                .iter()
                .any(|path| path.ends_with("var/lib/skewguard/report-state.json")),
            "{written:?}"
        );
        for path in written
            .iter()
            .filter(|path| !path.ends_with("etc/kubernetes/kubeconfig"))
            // The link to the message leads into the real /run.
            .filter(|path| !path.is_symlink())
        {
            let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
            assert!(
                !text.contains(BOOTSTRAP_TOKEN),
                "{over:?}: {}",
                path.display()
            );
        }
    }
}
