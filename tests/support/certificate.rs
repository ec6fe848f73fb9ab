//! Certificates of a kubelet, each of another key.

use std::time::{Duration, SystemTime};

/// One that the cluster signed that many days ago; this second for 0.
pub(crate) fn signed(days_ago: u64) -> String {
    let at = SystemTime::now() - Duration::from_secs(days_ago * 24 * 60 * 60);
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.not_before = at.into();
    params.not_after = rcgen::date_time_ymd(2099, 1, 1);
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "system:node:worker-0");
    let key = rcgen::KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().pem() + &key.serialize_pem()
}
