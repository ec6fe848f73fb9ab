//! Certificates of a kubelet, each of another key.

use std::time::{Duration, SystemTime};

/// One that the cluster signed that many days ago; less than a day for 0.
pub(crate) fn signed(days_ago: u64) -> String {
    let at = SystemTime::now() - Duration::from_secs(days_ago * 24 * 60 * 60);
    let day = humantime::format_rfc3339_seconds(at).to_string();
    let part = |range: std::ops::Range<usize>| day[range].parse::<u8>().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.not_before = rcgen::date_time_ymd(day[..4].parse().unwrap(), part(5..7), part(8..10));
    params.not_after = rcgen::date_time_ymd(2099, 1, 1);
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "system:node:worker-0");
    let key = rcgen::KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().pem() + &key.serialize_pem()
}
