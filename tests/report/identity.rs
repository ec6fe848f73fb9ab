use crate::node::Root;
use crate::node::identity::Identity;
use std::net::IpAddr;

fn from(files: &[(&str, &[u8])]) -> Identity {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open(dir.path()).unwrap();
    for (path, bytes) in files {
        root.write(path, bytes, 0o644).unwrap();
    }
    Identity::from_files(&root)
}

#[test]
fn a_nodes_files_say_who_it_is() {
    let identity = from(&[
        ("/etc/hostname", b"worker-3.c1.example.com\n"),
        ("/etc/machine-id", b"0123456789abcdef0123456789abcdef\n"),
        (
            "/sys/class/dmi/id/product_uuid",
            b"ec2a1b2c-0000-1111-2222-333344445555\n",
        ),
        ("/proc/cmdline", b"ignition.platform.id=aws quiet\n"),
    ]);
    let expected = Identity {
        hostname: Some("worker-3.c1.example.com".to_owned()),
        machine_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
        product_uuid: Some("ec2a1b2c-0000-1111-2222-333344445555".to_owned()),
        platform: Some("aws".to_owned()),
        ..Identity::default()
    };
    assert_eq!(identity, expected);
}

#[test]
fn what_is_missing_or_odd_is_unknown() {
    assert_eq!(from(&[]), Identity::default());
    // Before its first boot a machine id is "uninitialized" (machine-id(5)).
    for id in [
        b"uninitialized\n".as_slice(),
        b"",
        b"0123",
        b"\xff\xfe",
        &[b'a'; 9000],
    ] {
        assert_eq!(from(&[("/etc/machine-id", id)]).machine_id, None);
    }
    assert_eq!(from(&[("/etc/hostname", b"\n\n")]).hostname, None);
    assert_eq!(
        from(&[("/etc/hostname", b"a\x1b[2J\x07\n")])
            .hostname
            .as_deref(),
        Some("a\\u{1b}[2J\\u{7}")
    );
    let long = from(&[("/etc/hostname", &[b'a'; 4000])]).hostname.unwrap();
    assert!(long.len() <= 256, "{}", long.len());
}

#[tokio::test]
async fn the_running_system_has_a_name_and_no_address_that_leads_nowhere() {
    let identity = Identity::read(&Root::open("/".as_ref()).unwrap());
    assert!(identity.hostname.is_some());
    for address in &identity.addresses {
        let address: IpAddr = address.parse().unwrap();
        assert!(
            !address.is_loopback() && !address.is_unspecified(),
            "{address}"
        );
    }
    for mac in &identity.mac_addresses {
        let bytes: Vec<u8> = mac
            .split(':')
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
        assert!(bytes.len() == 6 && bytes != [0; 6], "{mac}");
    }
}

#[tokio::test]
async fn of_a_tree_no_address_of_this_machine_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::read(&Root::open(dir.path()).unwrap());
    assert_eq!(identity, Identity::default());
}

/// At the first try there may be addresses of one family only, or of a network that is gone later.
#[tokio::test]
async fn addresses_are_those_of_now() {
    let root = Root::open("/".as_ref()).unwrap();
    let now = Identity::read(&root);
    let stale = vec!["192.0.2.1".to_owned()];
    let mut later = Identity {
        addresses: stale.clone(),
        ..Identity::default()
    };
    later.complete(&root);
    assert_eq!(
        later.addresses,
        if now.addresses.is_empty() {
            stale
        } else {
            now.addresses
        }
    );
}
