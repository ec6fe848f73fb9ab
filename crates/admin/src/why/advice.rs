//! Advice by the name of a cause or of a refusal's reason (pure): our own words alone, never those
//! that a node sent.

use crate::verdict::Reason;
use crate::verdict::words::{About, Remedy};

/// The agent's own causes, which the node names: paragraphs of the name with its phases, the cause and
/// what to do.
const CAUSES: &str = include_str!("../../../../src/report/stall/causes.txt");

/// TLS handshakes that fail, in paragraphs: a name, what helps, and after a tab each what the message
/// contains, in lower case. The first one that knows a message counts, the last one knows all.
const HANDSHAKES: &str = include_str!("handshakes.txt");

/// What helps against a handshake that fails.
pub(super) fn against_handshake(message: &str) -> &'static str {
    let message = message.to_ascii_lowercase();
    let is_known = |paragraph: &&str| {
        let mut words = paragraph.lines().filter_map(|line| line.strip_prefix('\t'));
        words.any(|words| message.contains(words))
    };
    let paragraphs = HANDSHAKES.split("\n\n");
    let known = paragraphs.clone().find(is_known).or(paragraphs.last());
    known
        .and_then(|known| known.lines().nth(1))
        .unwrap_or_default()
}

/// What a cause of a first boot that does not finish is, and what to do against it in this phase; `None`
/// for one that is not known.
pub(super) fn against_cause(cause: &str, phase: &str) -> Option<(&'static str, &'static str)> {
    let mut paragraphs = CAUSES.split("\n\n").map(str::lines);
    paragraphs.find_map(|mut lines| {
        let name = lines.next()?.split(':').next()?;
        let is = lines.next().filter(|_| name == cause)?;
        let remedy = lines.next()?;
        // A phase may have a remedy of its own, in the line after it.
        let own = lines.next().and_then(|line| line.split_once(": "));
        let own = own.filter(|(of, _)| *of == phase);
        Some((is, own.map_or(remedy, |(_, own)| own)))
    })
}

/// The reason of a refusal by its name, where that is one of ours.
pub(super) fn reason(name: &str) -> Option<Reason> {
    let known = serde_json::from_value::<Reason>(name.into()).ok();
    known.filter(|known| known.words().about != About::NoRule)
}

/// What to do against a refusal.
pub(super) fn against_refusal(reason: &str) -> &'static str {
    let Some(reason) = self::reason(reason) else {
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
        let (is, remedy) = against_cause("NotFinalized", "Rebase").unwrap();
        assert!(is.starts_with("the rebase was staged"), "{is}");
        assert!(remedy.starts_with("A full /boot"), "{remedy}");
        for other in ["", "Nothing", "oc adm policy add-cluster-role-to-user"] {
            assert_eq!(against_cause(other, "Join"), None);
        }
        let joins: Vec<_> = CAUSES
            .lines()
            .filter_map(|line| line.strip_prefix("Join: "))
            .collect();
        let names = CAUSES.split("\n\n").filter_map(|all| all.split(':').next());
        let found = names.filter_map(|name| against_cause(name, "Join"));
        assert_eq!(
            found.filter(|(_, remedy)| joins.contains(remedy)).count(),
            joins.len()
        );
        // Whoever has the bootstrap credentials writes a report.
        assert!(!CAUSES.contains("certificate approve"));
        assert_eq!(against_refusal("rm -rf /"), IMAGE);
        assert!(against_refusal("CPUBelowMinimum").starts_with("Make the machine on other"));
    }

    #[test]
    fn each_handshake_has_a_name_and_what_helps() {
        for paragraph in HANDSHAKES.split("\n\n") {
            let lines: Vec<&str> = paragraph.trim_end().lines().collect();
            assert!(lines.len() >= 2, "{paragraph}");
            assert!(
                lines[..2].iter().all(|line| !line.starts_with('\t')),
                "{paragraph}"
            );
            for words in &lines[2..] {
                assert!(
                    words.starts_with('\t') && *words == words.to_lowercase(),
                    "{words}"
                );
            }
        }
        assert_eq!(
            against_handshake("client sent an HTTP request to an HTTPS server"),
            "Let the URL in its user data begin with https://"
        );
    }
}
