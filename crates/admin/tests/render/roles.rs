//! dist/manifests: the rules of the roles for `audit` and `why` are made from the table of kinds.

use super::repository;
use skewguard_cluster::kinds::groups::{CLUSTER_API_NAMESPACE, INFRASTRUCTURE, REPORTS_NAMESPACE};
use skewguard_cluster::kinds::kind::Kind;
use skewguard_cluster::kinds::kind::Purpose;
use skewguard_cluster::kinds::kind_table::KINDS;
use std::collections::BTreeSet;

/// A right that reading takes.
#[derive(Debug, Clone, PartialEq)]
struct Right {
    namespace: Option<&'static str>,
    group: &'static str,
    resource: String,
    name: Option<String>,
    verb: &'static str,
}

impl Right {
    fn is_user_data(&self) -> bool {
        self.resource == "secrets"
    }
}

fn right(namespace: Option<&'static str>, group: &'static str, resource: &str) -> Right {
    Right {
        namespace,
        group,
        resource: resource.to_owned(),
        name: None,
        verb: "list",
    }
}

/// The rights that reading a kind takes.
fn of_kind(kind: &Kind) -> Vec<Right> {
    let of_place = |place| {
        let list = || right(place, kind.group, kind.plural);
        let get = |name: &&str| Right {
            name: Some((*name).to_owned()),
            verb: "get",
            ..list()
        };
        let log = kind.log.map(|_| Right {
            verb: "get",
            ..right(place, kind.group, "pods/log")
        });
        match &*kind.names {
            [] => [list()].into_iter().chain(log).collect(),
            names => names.iter().map(get).collect::<Vec<_>>(),
        }
    };
    kind.places().into_iter().flat_map(of_place).collect()
}

/// The rights of the table for this purpose alone, and those that no row has.
fn rights(purpose: Purpose) -> Vec<Right> {
    let kinds = KINDS.iter().filter(|kind| kind.is_asked_for());
    let own = kinds.filter(|kind| kind.purpose == purpose);
    let mut all: Vec<Right> = own.flat_map(of_kind).collect();
    match purpose {
        // What a server has of the Cluster API's infrastructure it names itself.
        Purpose::Sets => {
            let list = |resource: String| right(None, INFRASTRUCTURE, &resource);
            for provider in INFRASTRUCTURES {
                if ["aws", "azure"].contains(&provider) {
                    all.push(list(format!("{provider}machinepools")));
                }
                all.push(list(format!("{provider}machines")));
                all.push(list(format!("{provider}machinetemplates")));
            }
        }
        // A Node that is not Ready, by its name; and user data that the operator manages.
        Purpose::Nodes => {
            all.push(Right {
                verb: "get",
                ..right(None, "", "nodes")
            });
            let secrets = rights(Purpose::Sets);
            for secret in secrets.into_iter().filter(Right::is_user_data) {
                let name = secret.name.as_ref().map(|name| format!("{name}-managed"));
                all.extend([secret.clone(), Right { name, ..secret }]);
            }
        }
    }
    all
}

/// The Cluster API's providers that OpenShift installs.
const INFRASTRUCTURES: [&str; 9] = [
    "aws",
    "azure",
    "gcp",
    "ibmpowervs",
    "ibmvpc",
    "metal3",
    "nutanix",
    "openstack",
    "vsphere",
];

/// Tells whether a role has this right: user data has one of its own, and the ClusterRole what a hosted
/// cluster has no namespace for, beside that.
fn is_in(right: &Right, purpose: Purpose, name: &str, namespace: Option<&str>) -> bool {
    let has_user_data = match purpose {
        Purpose::Sets => namespace.is_some(),
        Purpose::Nodes => name.ends_with("-user-data"),
    };
    let is_here = right.namespace == namespace || (purpose == Purpose::Sets && namespace.is_none());
    is_here && right.is_user_data() == has_user_data
}

/// Rules in YAML: of one group, what is listed together.
fn rules(rights: &[&Right]) -> String {
    let mut rules: Vec<(&Right, Vec<&str>, Vec<&str>)> = Vec::new();
    for right in rights {
        let same = rules.iter_mut().find(|(first, resources, _)| {
            (first.group, first.verb) == (right.group, right.verb)
                && first.name.is_some() == right.name.is_some()
                && (right.name.is_none() || *resources == [&*right.resource])
        });
        match same {
            Some((_, resources, names)) => {
                if right.name.is_none() {
                    resources.push(&right.resource);
                }
                names.extend(right.name.as_deref());
            }
            None => rules.push((
                right,
                vec![&right.resource],
                right.name.as_deref().into_iter().collect(),
            )),
        }
    }
    let rule = |(right, resources, names): (&Right, Vec<&str>, Vec<&str>)| {
        let group = if right.group.is_empty() {
            "\"\""
        } else {
            right.group
        };
        let resources = match resources.len() {
            ..=6 => format!(" [{}]", resources.join(", ")),
            _ => format!("\n  - {}", resources.join("\n  - ")),
        };
        let names = match names.as_slice() {
            [] => String::new(),
            names => format!("  resourceNames: [{}]\n", names.join(", ")),
        };
        let verb = right.verb;
        format!("- apiGroups: [{group}]\n  resources:{resources}\n{names}  verbs: [{verb}]\n")
    };
    rules.into_iter().map(rule).collect()
}

#[test]
fn the_roles_have_what_the_table_of_kinds_asks_for() {
    let mut given: Vec<Right> = Vec::new();
    for (path, purpose) in [
        ("auditor/auditor.yaml", Purpose::Sets),
        ("auditor/standalone/user-data.yaml", Purpose::Sets),
        ("audit/role.yaml", Purpose::Sets),
        ("audit/standalone/user-data.yaml", Purpose::Sets),
        ("why/why.yaml", Purpose::Nodes),
        ("why/standalone/why.yaml", Purpose::Nodes),
    ] {
        let own = rights(purpose);
        let path = format!("{}/dist/manifests/{path}", repository().display());
        let text = std::fs::read_to_string(&path).unwrap();
        let made: Vec<String> = text
            .split("---\n")
            .map(|document| {
                let Some((head, _)) = document.split_once("rules:\n") else {
                    return document.to_owned();
                };
                let field = |name: &str| {
                    let mut lines = head.lines();
                    lines.find_map(|line| line.strip_prefix(&format!("  {name}: ")))
                };
                let (name, namespace) = (field("name").unwrap(), field("namespace"));
                let is_own = |right: &&Right| is_in(right, purpose, name, namespace);
                let own: Vec<&Right> = own.iter().filter(is_own).collect();
                given.extend(own.iter().map(|right| (*right).clone()));
                format!("{head}rules:\n{}", rules(&own))
            })
            .collect();
        let made = made.join("---\n");
        if std::env::var_os("SKEWGUARD_BLESS").is_some() {
            std::fs::write(&path, made).unwrap();
        } else {
            assert_eq!(text, made, "{path}");
        }
    }
    // Events in skewguard's own namespace come with base/reader.yaml; the Cluster API's namespace is in few
    // clusters, and why.yaml says what to do there.
    let all = [Purpose::Sets, Purpose::Nodes].into_iter().flat_map(rights);
    let without: BTreeSet<_> = all
        .filter(|right| !given.contains(right))
        .map(|right| (right.namespace, right.resource))
        .collect();
    let events = |namespace| (Some(namespace), "events".to_owned());
    let few = [CLUSTER_API_NAMESPACE, REPORTS_NAMESPACE].map(events);
    assert_eq!(without, BTreeSet::from(few));
}
