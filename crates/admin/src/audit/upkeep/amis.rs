//! The list of AMIs from which the Machine Config Operator updates before OpenShift 5.0 (pure).

use std::collections::BTreeSet;
use std::sync::LazyLock;

static LISTED: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("amis.txt").lines();
    lines.filter(|line| !line.starts_with('#')).collect()
});

/// Tells whether an AMI is on it. `is_published`: it is one of Red Hat's, whose version is known.
pub(crate) fn is_listed(ami: &str, is_published: bool) -> bool {
    let Some(id) = ami.strip_prefix("ami-") else {
        return false;
    };
    if is_published {
        !LISTED.contains(&*format!("-{id}"))
    } else {
        LISTED.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole() {
        let has = |minus: bool| {
            let ids = LISTED.iter().map(|id| id.strip_prefix('-'));
            ids.filter(|id| id.is_some() == minus).count()
        };
        assert_eq!((has(false), has(true)), (577, 92));
        let is_id = |id: &&&str| {
            let id = id.trim_start_matches('-');
            matches!(id.len(), 8 | 17) && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        assert_eq!(LISTED.iter().filter(is_id).count(), LISTED.len());
    }
}
