//! Advice by the name of a cause or of a refusal's reason (pure): our own words alone, never those
//! that a node sent.

use crate::verdict::Reason;
use crate::verdict::words::Remedy;

/// The agent's own causes, which the node names: paragraphs of the name, the cause and what to do.
const CAUSES: &str = include_str!("../../../../src/report/stall/causes.txt");

/// What to do against a cause of a first boot that does not finish; `None` for one that is not
/// known.
pub(super) fn against_cause(cause: &str) -> Option<&'static str> {
    let mut paragraphs = CAUSES.split("\n\n").map(str::lines);
    paragraphs.find_map(|mut lines| (lines.next()? == cause).then(|| lines.nth(1))?)
}

/// What to do against a refusal.
pub(super) fn against_refusal(reason: &str) -> &'static str {
    let Ok(reason) = serde_json::from_value::<Reason>(reason.into()) else {
        return IMAGE;
    };
    match reason.words().remedy {
        Remedy::Image => IMAGE,
        Remedy::BootLoader => {
            "Make the machine from an allowed boot image, or update its boot loader"
        }
        Remedy::Hardware => "Make the machine on other hardware: no boot image helps",
    }
}

const IMAGE: &str = "Make the machine from an allowed boot image, which ones: `oc skewguard audit`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_known_by_a_name_alone() {
        let found = against_cause("NotFinalized").unwrap();
        assert!(found.starts_with("A full /boot"), "{found}");
        for other in ["", "Nothing", "oc adm policy add-cluster-role-to-user"] {
            assert_eq!(against_cause(other), None);
        }
        assert_eq!(against_refusal("rm -rf /"), IMAGE);
        assert!(against_refusal("CPUBelowMinimum").starts_with("Make the machine on other"));
    }
}
