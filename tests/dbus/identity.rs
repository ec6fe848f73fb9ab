//! Who the node is, asked of hostnamed and rpm-ostree: stand-ins with their documented interfaces
//! (org.freedesktop.hostname1(5), rpm-ostree's `rpmostreed-generated` introspection) on a private
//! bus.

use crate::inside::dbus::bus::Bus;
use crate::node::Root;
use crate::node::bus::{BootedDeployment, booted_deployment, hostname};
use crate::node::identity::Identity;
use crate::report::answer::Channel;
use crate::report::client::Client;
use crate::report::output::{ClusterKnows, Level, Output};
use crate::report::run::{End, Env, run};
use crate::report::stall::Progress;
use crate::transport::{Request, Response, TransportError};
use crate::verdict::Verdict;
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use zbus::{Connection, OwnedObjectPath, OwnedVariant, Variant, connection, interface};

struct Hostname1 {
    name: &'static str,
    delay: Duration,
}

#[interface(name = "org.freedesktop.hostname1")]
impl Hostname1 {
    #[zbus(property)]
    async fn hostname(&self) -> String {
        tokio::time::sleep(self.delay).await;
        self.name.to_owned()
    }
}

struct Sysroot;

#[interface(name = "org.projectatomic.rpmostree1.Sysroot")]
impl Sysroot {
    #[zbus(property)]
    fn booted(&self) -> OwnedObjectPath {
        OwnedObjectPath::try_from("/org/projectatomic/rpmostree1/rhcos").expect("a path")
    }
}

struct Os {
    deployment: HashMap<String, OwnedVariant>,
    asked: Arc<AtomicUsize>,
}

#[interface(name = "org.projectatomic.rpmostree1.OS")]
impl Os {
    #[zbus(property)]
    fn booted_deployment(&self) -> HashMap<String, OwnedVariant> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.deployment
            .iter()
            .map(|(name, value)| (name.clone(), value.try_clone().expect("no file descriptor")))
            .collect()
    }
}

fn text(value: &'static str) -> OwnedVariant {
    Variant::from(value).try_into().expect("no file descriptor")
}

async fn hostnamed(bus: &Bus, name: &'static str, delay: Duration) -> Connection {
    let builder =
        connection::Builder::address(bus.address.as_str()).name("org.freedesktop.hostname1");
    let builder = builder.serve_at("/org/freedesktop/hostname1", Hostname1 { name, delay });
    builder
        .build()
        .await
        .expect("the stand-in comes to the bus")
}

async fn rpm_ostreed(
    bus: &Bus,
    deployment: HashMap<String, OwnedVariant>,
    asked: &Arc<AtomicUsize>,
) -> Connection {
    let builder =
        connection::Builder::address(bus.address.as_str()).name("org.projectatomic.rpmostree1");
    let builder = builder.serve_at("/org/projectatomic/rpmostree1/Sysroot", Sysroot);
    let builder = builder.serve_at(
        "/org/projectatomic/rpmostree1/rhcos",
        Os {
            deployment,
            asked: Arc::clone(asked),
        },
    );
    builder
        .build()
        .await
        .expect("the stand-in comes to the bus")
}

#[tokio::test]
async fn hostnamed_names_the_node() {
    let bus = Bus::start();
    let _service = hostnamed(&bus, "ip-10-0-1-23", Duration::ZERO).await;
    assert_eq!(
        hostname(&bus.address).await.as_deref(),
        Some("ip-10-0-1-23")
    );
    let tree = tempfile::tempdir().expect("a directory");
    let root = Root::open(tree.path()).expect("it opens");
    root.write("/etc/hostname", b"what-the-file-says\n", 0o644)
        .expect("written");
    assert_eq!(
        Identity::read(&root, Some(&bus.address))
            .await
            .hostname
            .as_deref(),
        Some("ip-10-0-1-23")
    );
    assert_eq!(
        Identity::read(&root, None).await.hostname.as_deref(),
        Some("what-the-file-says")
    );
}

#[tokio::test]
async fn without_hostnamed_the_file_and_uname_do() {
    let bus = Bus::start();
    assert_eq!(hostname(&bus.address).await, None);
    assert_eq!(hostname("unix:path=/nonexistent/bus").await, None);
    assert_eq!(hostname("nonsense").await, None);
    let live = Root::open("/".as_ref()).expect("it opens");
    let identity = Identity::read(&live, Some(&bus.address)).await;
    assert!(identity.hostname.is_some_and(|name| !name.is_empty()));
}

#[tokio::test]
async fn a_name_that_moves_the_cursor_is_made_printable() {
    let bus = Bus::start();
    let _service = hostnamed(&bus, "a\u{1b}[2Jb", Duration::ZERO).await;
    let tree = tempfile::tempdir().expect("a directory");
    let root = Root::open(tree.path()).expect("it opens");
    assert_eq!(
        Identity::read(&root, Some(&bus.address))
            .await
            .hostname
            .as_deref(),
        Some("a\\u{1b}[2Jb")
    );
}

#[tokio::test]
async fn a_service_that_hangs_costs_some_seconds_and_nothing_else() {
    let bus = Bus::start();
    let _service = hostnamed(&bus, "too-late", Duration::from_secs(3600)).await;
    let asked = tokio::time::timeout(Duration::from_secs(60), hostname(&bus.address)).await;
    assert_eq!(
        asked.expect("it gives up long before the service would answer"),
        None
    );
}

#[tokio::test]
async fn rpm_ostree_says_what_is_booted() {
    let bus = Bus::start();
    let deployment = HashMap::from([
        ("version".to_owned(), text("411.86.202308081056-0")),
        ("checksum".to_owned(), text("c0ffee")),
        (
            "container-image-reference".to_owned(),
            text("ostree-unverified-registry:quay.io/x@sha256:0123\n"),
        ),
        (
            "booted".to_owned(),
            Variant::from(true).try_into().expect("no file descriptor"),
        ),
    ]);
    let _service = rpm_ostreed(&bus, deployment, &Arc::default()).await;
    let expected = BootedDeployment {
        version: Some("411.86.202308081056-0".to_owned()),
        checksum: Some("c0ffee".to_owned()),
        container_image_reference: Some(
            "ostree-unverified-registry:quay.io/x@sha256:0123\\n".to_owned(),
        ),
    };
    assert_eq!(booted_deployment(&bus.address).await, Some(expected));
}

#[tokio::test]
async fn odd_answers_of_rpm_ostree_are_none() {
    let bus = Bus::start();
    assert_eq!(booted_deployment(&bus.address).await, None);
    let number: OwnedVariant = Variant::from(5_u32).try_into().expect("no file descriptor");
    let _service = rpm_ostreed(
        &bus,
        HashMap::from([("version".to_owned(), number)]),
        &Arc::default(),
    )
    .await;
    assert_eq!(booted_deployment(&bus.address).await, None);
}

/// Takes everything, and keeps what came.
#[derive(Clone, Default)]
struct Cluster(Arc<Mutex<Vec<serde_json::Value>>>);

impl Client for Cluster {
    fn send(
        &self,
        _: Channel,
        request: Request,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send + 'static {
        self.0
            .lock()
            .expect("no panic before")
            .push(serde_json::from_slice(&request.body).expect("JSON"));
        async {
            Ok(Response {
                status: 201,
                retry_after: None,
                body: br#"{"metadata":{"name":"a"}}"#.to_vec(),
            })
        }
    }
    fn node_name(&self) -> Result<String, String> {
        Err("it never joins".to_owned())
    }
}

struct Nobody;

impl Output for Nobody {
    fn line(&mut self, _: Level, _: &str) {}
    fn cluster_knows(&mut self, _: &Verdict, _: &ClusterKnows, _: Option<&str>) -> bool {
        true
    }
    fn first_boot(&mut self, _: Option<&Progress>) {}
    fn remediation(&self, _: &Verdict) -> String {
        String::new()
    }
}

/// Asking starts both services, so a node must not ask on every boot for nothing.
#[tokio::test]
async fn a_report_holds_both_answers_and_a_later_boot_asks_nobody() {
    let bus = Bus::start();
    let asked = Arc::default();
    let _hostnamed = hostnamed(&bus, "ip-10-0-1-23", Duration::ZERO).await;
    let _rpm_ostreed = rpm_ostreed(
        &bus,
        HashMap::from([("checksum".to_owned(), text("c0ffee"))]),
        &asked,
    )
    .await;
    let tree =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/rhcos-4.12-refused");
    let verdict = crate::report::situation::decide_now(&Root::open(&tree).expect("it opens"))
        .expect("decided");
    let dir = tempfile::tempdir().expect("a directory");
    let root = Root::open(dir.path()).expect("it opens");
    root.write(
        "/run/skewguard/verdict.json",
        &serde_json::to_vec(&verdict).expect("JSON"),
        0o644,
    )
    .expect("written");
    let cluster = Cluster::default();
    for _boot in 0..2 {
        let parts = Env {
            root: &root,
            identity: Identity::default(),
            refresh: &|_| {},
            bus: Some(&bus.address),
            client: cluster.clone(),
            output: Nobody,
            now: &SystemTime::now,
            program: &|_, _| None,
            chance: &|| 0.0,
            once: true,
        };
        assert_eq!(run(parts).await, End::Done);
    }
    let sent = cluster.0.lock().expect("no panic before");
    assert_eq!(sent.len(), 2, "a report and an Event");
    assert!(
        sent[0]["metadata"]["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("ip-10-0-1-23-")),
        "{}",
        sent[0]
    );
    assert_eq!(
        sent[0]["report"]["details"]["rpmOstree"]["checksum"],
        "c0ffee"
    );
    assert_eq!(sent[1]["regarding"]["name"], sent[0]["metadata"]["name"]);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}
