//! A real Prometheus: the alerts fire, the dashboard's queries have answers, and the largest
//! expressions are evaluated.

use super::{POLICY, rendered, rule_file, rules};
use crate::render::Desk;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A Prometheus that scrapes these metrics every second and evaluates these rules as often.
struct Prometheus {
    program: Child,
    port: u16,
    dir: tempfile::TempDir,
    began: Instant,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

impl Prometheus {
    fn start(rules: &Value, metrics: impl Fn() -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (target, port) = (listener.local_addr().unwrap().port(), free_port());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let metrics = metrics();
                let length = metrics.len();
                let _ = write!(
                    stream,
                    "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\r\n{metrics}"
                );
            }
        });
        let dir = tempfile::tempdir().unwrap();
        rule_file(dir.path(), rules);
        let config = json!({ "global": { "scrape_interval": "1s", "evaluation_interval": "1s" }, "rule_files": ["rules.yaml"],
            "scrape_configs": [{ "job_name": "cluster", "static_configs": [{ "targets": [format!("127.0.0.1:{target}")] }] }] });
        std::fs::write(dir.path().join("prometheus.yml"), config.to_string()).unwrap();
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let program = Command::new("prometheus")
            .args([
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                &format!("--web.listen-address=127.0.0.1:{port}"),
            ])
            .current_dir(dir.path())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("prometheus: {error}: install the Debian package prometheus")
            });
        let began = Instant::now();
        Self {
            program,
            port,
            dir,
            began,
        }
    }

    /// What `GET path` gives, once that is as it should be; at most a minute after the start.
    fn wait(&self, path: &str, complete: impl Fn(&str) -> bool) -> String {
        loop {
            let answer = get(self.port, path).unwrap_or_default();
            if complete(&answer) {
                break answer;
            }
            let log = || std::fs::read_to_string(self.dir.path().join("log")).unwrap();
            assert!(
                self.began.elapsed() < Duration::from_secs(60),
                "{path}: {answer}{}",
                log()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The series of a query, and their values.
    fn query(&self, query: &str) -> Vec<(Value, String)> {
        let query: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let answer = get(self.port, &format!("/api/v1/query?query={query}")).unwrap();
        let mut series: Vec<(Value, String)> = body(&answer)["data"]["result"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"))
            .iter()
            .map(|series| {
                (
                    series["metric"].clone(),
                    series["value"][1].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        series.sort_by_key(|(metric, _)| metric.to_string());
        series
    }
}

/// Sends `GET path` and returns what comes back.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    serde_json::from_str(body).unwrap_or_default()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// It scrapes a stand-in for kube-state-metrics and an API server.
#[test]
fn a_real_prometheus_fires() {
    let (object, ..) = rendered(POLICY, &[]);
    let mut rules = object["spec"]["groups"][0]["rules"].clone();
    for rule in rules.as_array_mut().unwrap() {
        // Nobody waits for the durations of a cluster here.
        rule["for"] = json!("0s");
        let expr = rule["expr"].as_str().unwrap().replace("[2h:1m]", "[2h:1s]");
        rule["expr"] = json!(expr.replace("[1h:1m] offset 1m", "[1h:1s] offset 1s"));
    }
    let grown = Arc::new(AtomicBool::new(false));
    let has_grown = Arc::clone(&grown);
    let prometheus = Prometheus::start(&rules, move || {
        let count = if has_grown.load(Ordering::Relaxed) {
            2
        } else {
            1
        };
        format!(
            "kube_node_labels{{node=\"a\",label_skewguard_dev_boot_image=\"412.86.202303211731-0\"}} 1\n\
             kube_node_labels{{node=\"b\",label_skewguard_dev_boot_image=\"418.94.202511191518-0\"}} 1\n\
             apiserver_resource_objects{{group=\"skewguard.dev\",resource=\"bootimagereports\"}} {count}\n\
             apiserver_storage_objects{{resource=\"bootimagereports.skewguard.dev\"}} -1\n"
        )
    });
    let wait_for = |text: &str| prometheus.wait("/api/v1/alerts", |alerts| alerts.contains(text));
    let alerts = wait_for("OldBootImageInUse");
    assert!(
        alerts.contains("412.86.202303211731-0") && !alerts.contains("418.94"),
        "{alerts}"
    );
    assert!(!alerts.contains("BootImageRefused"), "{alerts}");
    std::thread::sleep(Duration::from_secs(2));
    grown.store(true, Ordering::Relaxed);
    wait_for("BootImageRefused");

    // The dashboard's queries.
    let one = |value: &str| vec![(json!({}), value.to_owned())];
    let by = |label: &str, values: [&str; 2]| {
        values
            .map(|value| (json!({ label: value }), "1".to_owned()))
            .to_vec()
    };
    let answers: Vec<_> = panels(&dashboard())
        .iter()
        .map(|panel| prometheus.query(panel["targets"][0]["expr"].as_str().unwrap()))
        .collect();
    let images = by(
        "label_skewguard_dev_boot_image",
        ["412.86.202303211731-0", "418.94.202511191518-0"],
    );
    let expected = [
        one("2"),
        one("2023"),
        one("2"),
        images,
        by("rhel", ["RHEL 8.6", "RHEL 9.4"]),
        one("2"),
    ];
    assert_eq!(answers, expected);
}

/// The nodes of the largest cluster that OpenShift supports, each with an image of its own.
const NODES: u32 = 2000;

/// A text like no other, as a version that is denied by its name.
fn version(n: u32) -> String {
    format!(
        "{:08x}-{:08x}",
        n.wrapping_mul(0x9e37_79b9),
        n.wrapping_mul(0x85eb_ca6b)
    )
}

/// Policies of the largest size: a thousand limits, a thousand denied versions, and as many as the
/// bound of the expression lets through. `--nocapture` shows how long each takes to evaluate.
#[test]
fn the_largest_expressions_are_evaluated() {
    let policy = |limits: Value| json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": limits });
    let denied = |count: u32| {
        let all = (0..count).map(|n| json!({ "version": version(n) }));
        policy(json!([{ "deniedVersions": all.collect::<Vec<_>>() }]))
    };
    let limits = (0..1000).map(|n| json!({ "release": format!("4.{}.{n}", 12 + n % 78), "minimumOCPVersion": "4.12", "minimumRHCOSVersion": "8.6" }));
    let policies = [
        ("1,000 limits", policy(limits.collect()), 0),
        ("1,000 denied versions", denied(1000), 1000),
        ("3,000 denied versions", denied(3000), NODES),
    ];
    let mut all = Vec::new();
    for (name, policy, _) in &policies {
        let (object, ..) = rendered(&policy.to_string(), &["--target", "4.20.86"]);
        let mut rule = rules(&object)[1].clone();
        assert_eq!(rule["alert"], "OldBootImageInUse", "{name}");
        rule["labels"]["policy"] = json!(name);
        all.push(rule);
    }
    let prometheus = Prometheus::start(&json!(all), || {
        (0..NODES)
            .map(|n| {
                format!(
                    "kube_node_labels{{node=\"n{n}\",label_skewguard_dev_boot_image=\"{}\"}} 1\n",
                    version(n)
                )
            })
            .collect()
    });
    let last = |answer: &str| {
        let rules = &body(answer)["data"]["groups"][0]["rules"];
        rules.as_array().cloned().unwrap_or_default()
    };
    let answer = prometheus.wait("/api/v1/rules", |answer| {
        let rules = last(answer);
        let have = |n: usize| rules[n]["alerts"].as_array().map_or(0, Vec::len);
        rules.len() == 3 && have(1) == 1000 && have(2) == NODES as usize
    });
    for ((name, _, fires), rule) in policies.iter().zip(last(&answer)) {
        let size = rule["query"].as_str().unwrap().len();
        let seconds = rule["evaluationTime"].as_f64().unwrap();
        eprintln!(
            "{name}: {size} bytes, {:.1} ms for {NODES} nodes",
            seconds * 1000.0
        );
        assert_eq!(
            (&rule["health"], &rule["lastError"]),
            (&json!("ok"), &Value::Null),
            "{name}"
        );
        assert_eq!(
            rule["alerts"].as_array().unwrap().len(),
            *fires as usize,
            "{name}"
        );
        assert!(
            seconds < 30.0,
            "{name}: longer than the interval of the rules"
        );
    }
}

fn dashboard() -> Value {
    let (status, out, err) = Desk::new().render(&["dashboard"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let object: Value = serde_saphyr::from_str(&out).unwrap();
    assert_eq!(object["metadata"]["namespace"], "openshift-config-managed");
    assert_eq!(
        object["metadata"]["labels"]["console.openshift.io/dashboard"],
        "true"
    );
    assert_eq!(object["data"].as_object().unwrap().len(), 1);
    serde_json::from_str(object["data"]["skewguard.json"].as_str().unwrap()).unwrap()
}

fn panels(dashboard: &Value) -> Vec<Value> {
    let rows = dashboard["rows"].as_array().unwrap();
    rows.iter()
        .flat_map(|row| row["panels"].as_array().unwrap().clone())
        .collect()
}

/// What the console draws: rows of graphs, single numbers and tables, from the one data source that
/// it has.
#[test]
fn the_dashboard_has_what_the_console_draws() {
    let dashboard = dashboard();
    assert_eq!(dashboard["templating"]["list"][0]["name"], "datasource");
    let panels = panels(&dashboard);
    let ids: std::collections::BTreeSet<String> =
        panels.iter().map(|panel| panel["id"].to_string()).collect();
    assert_eq!((ids.len(), panels.len()), (6, 6));
    for panel in &panels {
        let title = panel["title"].as_str().unwrap();
        assert!(
            ["graph", "singlestat", "table"].contains(&panel["type"].as_str().unwrap()),
            "{title}"
        );
        assert_eq!(panel["datasource"], "$datasource", "{title}");
        assert_eq!(panel["targets"].as_array().unwrap().len(), 1, "{title}");
    }
    for row in dashboard["rows"].as_array().unwrap() {
        let width: u64 = row["panels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|panel| panel["span"].as_u64().unwrap())
            .sum();
        assert_eq!(width, 12);
    }
}
