//! Words for what failed while a cluster was read: its facts, and what helps.

use skewguard_cluster::trouble::{Help, Trouble};
use skewguard_cluster::unread::Unread;

/// The whole of it, for a person.
pub fn full_text(Trouble { what, help }: Trouble) -> String {
    what + &help.map_or_else(String::new, words)
}

/// The same of what was not read.
pub(crate) fn tell(unread: &mut Unread) {
    if let Some(help) = unread.help.take() {
        unread.why += &words(help);
    }
    if unread.is_estimated {
        unread.why += ESTIMATED;
    }
}

/// Consequence where user data could not be read.
const ESTIMATED: &str = "; the Ignition version of the user data is then an estimate, by the release that the cluster was installed as";

/// Words that follow the facts, or stand for them where there are none.
fn words(help: Help) -> String {
    match help {
        Help::UnpackBy(program) => return format!(": unpack it first (`{program}`)"),
        Help::NoSets => "has no objects that the audit reads: `oc get -o json` prints them",
        Help::NoNodes => {
            "has nothing that `why` reads: objects as `oc get -o json` prints them, or a log of a machine-config-server, a machine-approver or an ignition-server (`oc logs`)"
        }
        Help::SayKind => ": `oc get -o json` prints what is read",
        Help::PrintObjects => "; `oc get -o json` prints what is read",
        Help::PrintAll => "; `oc get -o json` prints all",
        Help::PrintWhole => "; `oc get -o yaml` prints all of it",
        Help::Own("BootImageSkewPolicy") => "; --policy reads it",
        Help::Own("BootImageAudit" | "BootImageAuditList") => "; --since reads it",
        Help::Own(_) => "",
        Help::OfInsights => {
            "copies of the Insights Operator; --from reads one where it is named by itself"
        }
        Help::Unnamed => {
            "has objects of a cluster, and no ending of JSON or YAML: name it itself, or rename it"
        }
        Help::FollowLink => "is a link, which is not followed: name what it leads to",
        Help::NameInner => ": name what is in it, as objects of their own",
        Help::Split => {
            ": split it: one file for each kind (`oc get machines.machine.openshift.io -A -o json`), nodes by a label \
             (`oc get nodes -l node-role.kubernetes.io/worker -o json`); any number of files is read"
        }
        Help::Unpack => ": unpack it first",
        Help::UnpackFolders => ": unpack it first, and name the folders with objects",
        Help::EachGather => ": audit each gather by itself",
        Help::OneCluster => "; name the files of one at a time",
        Help::NameKubeconfig => {
            ": name one with --kubeconfig, or objects that `oc get -o json` printed with --from"
        }
        Help::NameContext => "; choose one with --context",
        Help::NameCa => {
            ": remove it, and name the CA in certificate-authority (`oc login --certificate-authority=FILE` writes that), \
             or run with --insecure-skip-tls-verify"
        }
        Help::OtherCredentials => ": use a token or a client certificate",
        Help::LogInFirst => ": log in first, or use a token",
        Help::RunByHand => "; run it by hand to see why",
        Help::OtherServer => {
            "; look at `server` of the kubeconfig, such as https://api.CLUSTER.DOMAIN:6443"
        }
        Help::OwnCertificate => {
            ": give the API server a certificate that a CA signed, or gather with `oc skewguard audit --print-commands` \
             and audit the files (--from)"
        }
        Help::TlsServerName => "; if the kubeconfig means that one, it needs tls-server-name",
        Help::Rights => {
            "; `oc skewguard render manifests --auditor` prints the ClusterRole that it lacks"
        }
        Help::TryAgain => ": try again",
    }
    .to_owned()
}
