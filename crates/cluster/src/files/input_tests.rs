use super::*;

const NODE: &str = "apiVersion: v1\nkind: Node\nmetadata:\n  name: n\n";

const SMALL: Limits = Limits {
    file: 4096,
    unpacked: 1 << 20,
    members: 10,
    depth: 3,
};

fn read(name: &str, bytes: &[u8]) -> (usize, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let mut objects = Cluster::default();
    let unread = read_within(&[path], &mut objects, SMALL);
    let short = |unread: &Unread| {
        let what = unread
            .what
            .replace(&format!("{}/", dir.path().display()), "");
        let help = unread.help.map(|help| format!(" ({help:?})"));
        format!("{what}: {}{}", unread.why, help.unwrap_or_default())
    };
    (objects.count, unread.iter().map(short).collect())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut packed, bytes).unwrap();
    packed.finish().unwrap()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn what_is_larger_than_is_read_says_how_to_split_it() {
    let large = format!("{NODE}{}", "# x\n".repeat(2000));
    for bytes in [large.as_bytes(), &gzip(large.as_bytes())] {
        let (_, unread) = read("nodes.yaml", bytes);
        assert!(
            matches!(&unread[..], [one] if one.starts_with("nodes.yaml: is larger than 0 MiB (Split)")),
            "{unread:?}"
        );
    }
    // In an archive the others are read.
    let archive = tar(&[("a.yaml", large.as_bytes()), ("b.yaml", NODE.as_bytes())]);
    let (count, unread) = read("x.tar", &archive);
    assert!(
        count == 1 && matches!(&unread[..], [one] if one.starts_with("a.yaml in x.tar: is larger")),
        "{unread:?}"
    );
}

/// Four MiB of zeros are 4 kB of gzip.
#[test]
fn a_bomb_ends_the_reading() {
    let zeros = vec![0; 4 << 20];
    let files: [(&str, &[u8]); 2] = [("core.dump", &zeros), ("a.yaml", NODE.as_bytes())];
    for archive in [gzip(&tar(&files)), tar(&[("x.tgz", &gzip(&tar(&files)))])] {
        let (count, unread) = read("x.tgz", &archive);
        assert_eq!(count, 0);
        assert!(
            unread
                .iter()
                .any(|one| one.contains("unpacks to more than")),
            "{unread:?}"
        );
    }
}

#[test]
fn depth_and_number_of_files_are_bounded() {
    let once = tar(&[("a.yaml", NODE.as_bytes())]);
    assert_eq!(read("x.tgz", &gzip(&once)), (1, vec![]));
    let twice = gzip(&tar(&[("x.tgz", &gzip(&once))]));
    let (count, unread) = read("y.tgz", &twice);
    assert_eq!(
        (count, unread),
        (
            0,
            vec!["x.tgz in y.tgz: is packed too often (Unpack)".to_owned()]
        )
    );
    let many: Vec<(&str, &[u8])> = vec![("a.log", b"x"); 11];
    let (_, unread) = read("x.tar", &tar(&many));
    assert!(unread[0].contains("has more than 10 entries"), "{unread:?}");
}

/// An archive may claim a name of any length: it is not read into memory.
#[test]
fn a_name_without_end_is_not_read() {
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(1 << 19);
    header.set_cksum();
    let mut archive = header.as_bytes().to_vec();
    archive.extend(vec![b'a'; 1 << 19]);
    let (_, unread) = read("x.tar", &archive);
    assert!(
        unread[0].contains("has a name that is too long"),
        "{unread:?}"
    );
}
