//! Reasons of the machine-approver against a certificate request, from a line of its log (pure).
//!
//! The messages are those of openshift/cluster-machine-approver, `pkg/controller`, and `main.go` of
//! its first releases.

use crate::secrets::without_secrets;
use crate::text::printable_up_to;

/// The request that a line is about, and why it was not approved.
pub fn refusal(line: &str) -> Option<(&str, String)> {
    let (_, message) = line.split_once("] ")?;
    let message = message.trim_end();
    // 4.1 to 4.3: `CSR csr-grgft not authorized: No target machine`.
    if let Some(rest) = message.strip_prefix("CSR ")
        && let Some((name, why)) = rest.split_once(" not authorized: ")
    {
        return is_name(name).then(|| (name, words(why)));
    }
    // 4.9 to 4.12 name the Node in the place of the request.
    if let Some(rest) = message.strip_prefix("&ObjectReference{")
        && let Some((node, why)) = rest.split_once(": ")
        && let Some((_, node)) = node.split_once(",Name:")
        && why.contains("already has node ref, cannot approve")
    {
        let node = node.split(',').next().unwrap_or_default();
        return is_name(node).then(|| {
            (
                node,
                words("its Machine already has node ref, cannot approve"),
            )
        });
    }
    let (name, why) = message.split_once(": ")?;
    if !is_name(name) || !WHY.iter().any(|known| why.contains(known)) {
        return None;
    }
    Some((name, words(why)))
}

/// The words of a line that is about all requests: up to 4.7 it names none, later the one that it looked at.
pub fn refusal_of_all(message: &str) -> Option<String> {
    message
        .starts_with("Pending CSRs: ")
        .then(|| words(message))
}

/// Parts of the lines that give a reason.
const WHY: [&str; 17] = [
    // Up to 4.19.
    "failed to find machine for node ",
    "Failed to list Nodes",
    "ailed to list CSRs",
    "failed to find machine with InternalDNS matching",
    "already has node ref, cannot approve",
    "already exists, cannot approve",
    "CSR creation time ",
    "unable to get node ",
    "Pending CSRs: ",
    "Serving Cert: No target machine",
    "DNS name '",
    "IP address '",
    "rejected as the flow is disabled",
    "Unrecoverable serving cert error",
    "does not appear to be a valid node bootstrapper client cert request",
    "Failed to list machines",
    "Failed to parse csr",
];

fn words(why: &str) -> String {
    printable_up_to(&without_secrets(why), 200)
}

fn is_name(name: &str) -> bool {
    crate::text::is_dns_name(name, 253)
}

#[cfg(test)]
mod tests {
    use super::{refusal, refusal_of_all};

    /// 4.5 to 4.7. An approver of later releases names the request.
    #[test]
    fn a_refusal_of_all_requests_names_none() {
        let words = "Pending CSRs: 211; Max pending allowed: 106. Difference between pending CSRs and machines > 100. Ignoring all CSRs as too many recent pending CSRs seen";
        assert_eq!(refusal_of_all(words).as_deref(), Some(words));
        assert_eq!(refusal_of_all(&format!("csr-x: {words}")), None);
        let url = refusal_of_all("Pending CSRs: https://eve:pw@example.com/?token=t");
        assert_eq!(url.as_deref(), Some("Pending CSRs: https://example.com/"));
    }

    /// The first is public, the second of its first releases (openshift/cluster-machine-approver
    /// issue 15).
    #[test]
    fn refusals_name_the_request_and_why() {
        for (line, wanted) in [
            (
                "E0820 09:14:03.1 1 csr_check.go:329] csr-72cnz: failed to find machine with InternalDNS matching ip-10-0-17-179, cannot approve",
                Some((
                    "csr-72cnz",
                    "failed to find machine with InternalDNS matching ip-10-0-17-179, cannot approve",
                )),
            ),
            (
                "I0321 18:09:39.133134       1 main.go:123] CSR csr-grgft not authorized: No target machine",
                Some(("csr-grgft", "No target machine")),
            ),
            (
                "E0820 09:14:03.1 1 controller.go:2] csr-x: Pending CSRs: 230; Max pending allowed: 112. Difference between pending CSRs and machines > 100. Ignoring all CSRs as too many recent pending CSRs seen",
                Some((
                    "csr-x",
                    "Pending CSRs: 230; Max pending allowed: 112. Difference between pending CSRs and machines > 100. Ignoring all CSRs as too many recent pending CSRs seen",
                )),
            ),
            (
                "I0820 09:14:03.1 1 controller.go:2] Reconciling CSR: csr-x",
                None,
            ),
            (
                "I0820 09:14:03.1 1 controller.go:2] csr-x: CSR is already approved",
                None,
            ),
            (
                "E0820 09:14:03.1 1 csr_check.go:273] csr-72cnz: failed to find machine for node ip-10-0-17-179, cannot approve",
                Some((
                    "csr-72cnz",
                    "failed to find machine for node ip-10-0-17-179, cannot approve",
                )),
            ),
            (
                "E0820 09:14:03.1 1 csr_check.go:279] csr-72cnz: machine for node &ObjectReference{Kind:Node,Namespace:,Name:worker-7,UID:1,APIVersion:,ResourceVersion:,FieldPath:,} already has node ref, cannot approve",
                Some((
                    "csr-72cnz",
                    "machine for node &ObjectReference{Kind:Node,Namespace:,Name:worker-7,UID:1,APIVersion:,ResourceVersion:,FieldPath:,} already has node ref, cannot approve",
                )),
            ),
            // 4.12, which gives its format one argument of two.
            (
                "E0820 09:14:03.1 1 csr_check.go:263] &ObjectReference{Kind:Node,Namespace:,Name:worker-7,UID:1,APIVersion:,ResourceVersion:,FieldPath:,}: machine for node %!v(MISSING) already has node ref, cannot approve",
                Some((
                    "worker-7",
                    "its Machine already has node ref, cannot approve",
                )),
            ),
            ("nonsense", None),
            (
                "E0820 09:14:03.1 1 x.go:2] what is this: already exists, cannot approve",
                None,
            ),
        ] {
            let found = refusal(line);
            let found = found.as_ref().map(|(name, why)| (*name, why.as_str()));
            assert_eq!(found, wanted, "{line}");
        }
    }
}
