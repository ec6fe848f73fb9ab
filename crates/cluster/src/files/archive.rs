//! Formats of files, by their first bytes, and the files of a tar archive. Nothing is unpacked to disk.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use tar::EntryType;

/// The size of a block of a tar archive: as many bytes tell every format.
pub const BLOCK: usize = 512;

/// The longest name of a file in an archive.
const MAX_NAME: u64 = 64 << 10;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Gzip,
    Xz,
    Tar,
    /// A format that is not read: its name, and the command that unpacks it.
    Foreign(&'static str, &'static str),
}

impl Format {
    /// By the first bytes, never by the name.
    pub fn of(head: &[u8]) -> Self {
        const FOREIGN: [(&[u8], &str, &str); 4] = [
            (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"),
            (b"BZh", "bzip2", "bunzip2"),
            (b"PK\x03\x04", "zip", "unzip"),
            (b"7z\xbc\xaf\x27\x1c", "7z", "7z x"),
        ];
        // An archive without files is zeros.
        let is_empty_tar = head.len() == BLOCK && head.iter().all(|byte| *byte == 0);
        if head.starts_with(b"\x1f\x8b") {
            Self::Gzip
        } else if head.starts_with(b"\xfd7zXZ\0") {
            Self::Xz
        } else if is_empty_tar || head.get(257..262) == Some(b"ustar") {
            Self::Tar
        } else {
            FOREIGN
                .into_iter()
                .find(|(magic, ..)| head.starts_with(magic))
                .map_or(Self::Text, |(_, name, remedy)| Self::Foreign(name, remedy))
        }
    }
}

/// The most bytes behind an archive's end: it is filled up with zeros.
const MAX_BEHIND: u64 = 16 << 20;

/// Tells whether a name in a folder or archive is that of something that may have objects: text, or text
/// and archives however they are packed. Logs are not.
pub fn may_have_objects(path: &Path) -> bool {
    const TEXT: [&str; 5] = [".json", ".yaml", ".yml", ".jsonl", ".ndjson"];
    const PACKED: [&str; 4] = [".gz", ".xz", ".zst", ".bz2"];
    const ARCHIVE: [&str; 6] = [".tar", ".tgz", ".txz", ".tzst", ".tbz2", ".zip"];
    let Some(name) = path.file_name() else {
        return false;
    };
    let name = name.to_string_lossy().to_ascii_lowercase();
    let plain = PACKED.iter().find_map(|end| name.strip_suffix(end));
    let name = plain.unwrap_or(&name);
    TEXT.iter().chain(&ARCHIVE).any(|end| name.ends_with(end))
}

/// Tells whether a name, without that of its packing, has no ending, or one of any text: objects in such a file are not read, and named.
pub fn is_unnamed(path: &Path) -> bool {
    unpacked_name(path)
        .extension()
        .is_none_or(|end| end.eq_ignore_ascii_case("txt"))
}

/// Tells whether the Insights Operator keeps it of its own cluster, and a must-gather takes it along
/// (openshift/must-gather, `gather_insights`): copies, with names made unreadable.
pub fn is_of_insights(path: &Path) -> bool {
    path.iter().any(|part| part == "insights-data")
}

/// The name without what its packing adds.
pub fn unpacked_name(path: &Path) -> PathBuf {
    match path.extension().and_then(|end| end.to_str()) {
        Some("gz" | "xz" | "GZ" | "XZ") => path.with_extension(""),
        _ => path.to_owned(),
    }
}

/// A stream of which no more bytes may be unpacked than are left, for all streams together.
pub struct Bounded<R> {
    pub stream: R,
    pub left: Rc<Cell<u64>>,
}

/// More was packed than is unpacked.
#[derive(Debug, thiserror::Error)]
#[error("too much is packed into it")]
pub struct TooMuch;

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(into)?;
        let left = self.left.get().checked_sub(count as u64);
        self.left
            .set(left.ok_or_else(|| io::Error::other(TooMuch))?);
        Ok(count)
    }
}

/// A file of an archive, or a link.
pub struct Member<'a> {
    pub path: PathBuf,
    pub is_link: bool,
    /// A link to what may be a folder, and is not in the archive.
    pub leads_out: bool,
    pub content: &'a mut dyn Read,
}

/// Place in its archive that a link to what has no ending leads to; `None` where it leads out.
fn end_of(link: &Path, to: &Path) -> Option<PathBuf> {
    let folder = link.parent().into_iter().flat_map(Path::components);
    let folder = folder.filter(|part| matches!(part, Component::Normal(_)));
    let mut end = PathBuf::new();
    for part in folder.chain(to.components()) {
        match part {
            Component::ParentDir => end.pop().then_some(())?,
            Component::Normal(part) => end.push(part),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(end)
}

/// Links of an archive to what may be folders, and the places that have files.
#[derive(Default)]
struct FolderLinks {
    all: Vec<(PathBuf, Option<PathBuf>)>,
    places: BTreeSet<PathBuf>,
}

impl FolderLinks {
    fn add_file(&mut self, path: &Path) {
        let place = match path.extension() {
            Some(_) => path.parent(),
            None => Some(path),
        };
        let place = place.into_iter().flat_map(Path::components);
        let place = place.filter(|part| matches!(part, Component::Normal(_)));
        self.places.insert(place.collect());
    }

    fn add_link(&mut self, path: &Path, to: &[u8]) {
        let to = String::from_utf8_lossy(to);
        let to = Path::new(&*to);
        if to.extension().is_none() && !may_have_objects(path) {
            self.all.push((path.to_owned(), end_of(path, to)));
        }
    }

    /// Links whose end is not in the archive.
    fn leading_out(self) -> impl Iterator<Item = PathBuf> {
        let Self { all, places } = self;
        let is_there = move |end: &PathBuf| {
            let mut from = places.range::<PathBuf, _>(end..);
            from.next().is_some_and(|place| place.starts_with(end))
        };
        let out = all
            .into_iter()
            .filter(move |(_, end)| !end.as_ref().is_some_and(&is_there));
        out.map(|(link, _)| link)
    }
}

/// Shows each file and link of a tar archive to `take`, until its end.
///
/// # Errors
/// It is broken, ends early, or has more than `max` entries, and what `take` refuses. Long names
/// are put together here: the crate would read one of any length.
pub fn members(
    stream: &mut dyn Read,
    max: usize,
    take: &mut dyn FnMut(Member<'_>),
) -> io::Result<()> {
    let mut ending = Ending { stream, zeros: 0 };
    let mut archive = tar::Archive::new(&mut ending);
    let (mut long_name, mut links) = (None, FolderLinks::default());
    for (n, entry) in archive.entries()?.raw(true).enumerate() {
        if n == max {
            return Err(io::Error::other(format!("has more than {max} entries")));
        }
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName | EntryType::XHeader if entry.size() > MAX_NAME => {
                return Err(io::Error::other("has a name that is too long"));
            }
            EntryType::GNULongName => long_name = Some(gnu_name(&mut entry)?),
            EntryType::XHeader => long_name = pax_name(&mut entry)?.or(long_name),
            EntryType::Regular | EntryType::Continuous | EntryType::Link | EntryType::Symlink => {
                let short = || String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                let path: PathBuf = long_name.take().unwrap_or_else(short).into();
                match entry.link_name_bytes() {
                    Some(to) if kind == EntryType::Symlink => links.add_link(&path, &to),
                    _ => links.add_file(&path),
                }
                take(Member {
                    path,
                    is_link: matches!(kind, EntryType::Link | EntryType::Symlink),
                    leads_out: false,
                    content: &mut entry,
                });
            }
            // Folders, devices, and what is said of the next entry beside its name.
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            _ => long_name = None,
        }
    }
    for path in links.leading_out() {
        take(Member {
            path,
            is_link: true,
            leads_out: true,
            content: &mut io::empty(),
        });
    }
    // What packs it has its checksum at the end.
    let behind = io::copy(&mut (&mut ending).take(MAX_BEHIND), &mut io::sink())?;
    if behind == MAX_BEHIND {
        return Err(io::Error::other("goes on behind its end"));
    }
    if ending.zeros < BLOCK {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn gnu_name(entry: &mut dyn Read) -> io::Result<String> {
    let mut name = Vec::new();
    entry.read_to_end(&mut name)?;
    let end = name.iter().position(|byte| *byte == 0);
    name.truncate(end.unwrap_or(name.len()));
    Ok(String::from_utf8_lossy(&name).into_owned())
}

fn pax_name(entry: &mut tar::Entry<'_, impl Read>) -> io::Result<Option<String>> {
    let mut name = None;
    for extension in entry.pax_extensions()?.into_iter().flatten() {
        let extension = extension?;
        if extension.key_bytes() == b"path" {
            name = Some(String::from_utf8_lossy(extension.value_bytes()).into_owned());
        }
    }
    Ok(name)
}

/// Counts the zeros at the end: an archive ends with two blocks of them.
struct Ending<'a> {
    stream: &'a mut dyn Read,
    zeros: usize,
}

impl Read for Ending<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(into)?;
        let read = into.get(..count).unwrap_or_default();
        let zeros = read.iter().rev().take_while(|byte| **byte == 0).count();
        self.zeros = if zeros == count {
            self.zeros.saturating_add(count)
        } else {
            zeros
        };
        Ok(count)
    }
}
