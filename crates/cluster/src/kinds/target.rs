//! The release that an audit is about (pure).

use crate::verdict::Target;
use crate::version::Release;

/// A release that is known, as x.y.z.
pub fn parsed(release: Option<&str>) -> Option<Release> {
    release?.parse().ok()
}

/// Release that was asked about. A person who writes 4.22.1 means OKD's, where the cluster is of OKD.
pub fn meant_release(cluster: Option<&str>, asked: &str) -> String {
    if cluster.is_some_and(is_okd) && !is_okd(asked) {
        format!("{asked}-okd")
    } else {
        asked.to_owned()
    }
}

/// Tells whether a release is one of OKD.
pub fn is_okd(release: &str) -> bool {
    let target = Target {
        release: Some(release.to_owned()),
        ..Target::default()
    };
    target.is_okd() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_that_of_the_cluster_it_is_asked_for() {
        const OKD: &str = "4.21.0-okd-scos.11";
        for (cluster, asked, meant) in [
            (Some(OKD), "4.22.1", "4.22.1-okd"),
            (Some(OKD), "4.22.0-okd-scos.5", "4.22.0-okd-scos.5"),
            (Some("4.21.9"), "4.22.1", "4.22.1"),
            (None, "4.22.1", "4.22.1"),
        ] {
            assert_eq!(meant_release(cluster, asked), meant, "{cluster:?} {asked}");
        }
        assert!(is_okd("4.12.0-0.okd-2023-04-01-051724") && !is_okd("4.12.0"));
        assert!(is_okd("4.22.1-okd"), "what is made here is understood");
    }
}
