use crate::kubeconfig::node_name;
use proptest::prelude::*;

const KUBELET: &[u8] = include_bytes!("../data/certificates/kubelet.pem");
const ADMIN: &[u8] = include_bytes!("../data/certificates/admin.pem");

#[test]
fn a_kubelets_certificate_names_its_node() {
    assert_eq!(node_name(KUBELET), Ok("worker-0.c1.example.com".to_owned()));
}

#[test]
fn the_kubelet_keeps_its_key_in_the_same_file() {
    let key = b"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n";
    assert_eq!(
        node_name(&[KUBELET, key].concat()),
        Ok("worker-0.c1.example.com".to_owned())
    );
    assert_eq!(
        node_name(&[key, KUBELET].concat()),
        Ok("worker-0.c1.example.com".to_owned())
    );
}

#[test]
fn somebody_elses_certificate_names_no_node() {
    assert_eq!(
        node_name(ADMIN).unwrap_err(),
        "is not a node's: its common name is \"system:admin\", not \"system:node:NAME\""
    );
}

/// The certificate with every occurrence of some bytes replaced by others of the same length.
fn patched(from: &str, to: &str) -> Vec<u8> {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    assert_eq!(from.len(), to.len());
    let body: String = std::str::from_utf8(KUBELET)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let mut der = STANDARD.decode(body).unwrap();
    while let Some(at) = der
        .windows(from.len())
        .position(|window| window == from.as_bytes())
    {
        der[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        STANDARD.encode(der)
    )
    .into_bytes()
}

#[test]
fn a_name_that_would_leave_its_place_in_a_url_is_none() {
    let node = "worker-0.c1.example.com";
    for odd in [
        "worker-0/../../example.c",
        "worker-0?dryRun=All.exam",
        "worker-0%2f..%2fexample",
        "WORKER-0.C1.EXAMPLE.COM",
        "worker-0.c1.example.co\n",
    ] {
        let odd = &odd[..node.len().min(odd.len())];
        assert!(
            node_name(&patched(node, odd))
                .unwrap_err()
                .starts_with("is not a node's: "),
            "{odd:?}"
        );
    }
}

#[test]
fn what_is_no_certificate_is_an_error() {
    let cases: [&[u8]; 5] = [
        b"",
        b"-----BEGIN CERTIFICATE-----\n",
        b"\xff\xfe",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        &[b'A'; 100_000],
    ];
    for case in cases {
        assert_eq!(
            node_name(case),
            Err("holds no certificate in PEM".to_owned())
        );
    }
    for der in ["", "MAA=", "MIA=", "MIQAAAAA", "MIP///8=", "MAYwBAICAAE="] {
        let pem = format!("-----BEGIN CERTIFICATE-----\n{der}\n-----END CERTIFICATE-----\n");
        assert_eq!(
            node_name(pem.as_bytes()),
            Err("is not an X.509 certificate".to_owned()),
            "{der}"
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_break_it(der in proptest::collection::vec(any::<u8>(), 0..400)) {
        use base64::Engine;
        let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64::engine::general_purpose::STANDARD.encode(der));
        let _ = node_name(pem.as_bytes());
    }

    #[test]
    fn no_flipped_byte_of_a_real_one_breaks_it(at in 0_usize..700, byte in any::<u8>()) {
        let mut pem = KUBELET.to_vec();
        if let Some(slot) = pem.get_mut(at) {
            *slot = byte;
        }
        if let Ok(name) = node_name(&pem) {
            prop_assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.'));
        }
    }
}
