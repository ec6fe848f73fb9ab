//! Files, folders and archives that a person names.

use super::archive::{self, BLOCK, Bounded, Format, Member, TooMuch};
use super::documents::add_file;
use super::folder;
use crate::add::{add_aleph, settle};
use crate::cluster::Cluster;
use crate::file::{cause, name as named, opened};
use crate::files::staged::SourceFile;
use crate::kinds::file_names::is_in_file;
use crate::kinds::kind::Purpose;
use crate::logs::read::{is_log, is_log_text};
use crate::text::printable;
use crate::trouble::{Help, Trouble};
use crate::unread::Unread;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bounds of the reading.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Bytes of one file, unpacked.
    file: u64,
    /// Bytes of all archives, unpacked.
    unpacked: u64,
    /// Files of one archive.
    members: usize,
    /// Packings within packings: `.tar.gz` are two.
    depth: usize,
}

/// The most bytes of one file.
pub const MAX_FILE: u64 = 512 << 20;

const LIMITS: Limits = Limits {
    file: MAX_FILE,
    unpacked: 64 << 30,
    members: 1_000_000,
    depth: 8,
};

/// Memory for the dictionary of xz, in KiB: `xz -9` takes 65 MiB.
const XZ_MEMORY: u32 = 128 << 10;

/// So much of a file tells whether it has objects.
const HEAD: u64 = 64 << 10;

/// Folders of a must-gather with logs that `why` never reads: nothing of theirs is missing.
const NEVER_READ: [&str; 4] = [
    "host_service_logs",
    "audit_logs",
    "etcd_info",
    "network_logs",
];

/// Reads what was named, and returns what could not be read.
///
/// # Errors
/// The objects are of more than one cluster.
pub fn read(paths: &[PathBuf], objects: &mut Cluster) -> Result<Vec<Unread>, Trouble> {
    let unread = read_within(paths, objects, LIMITS);
    settle(objects)?;
    objects.add_undated_logs();
    Ok(unread)
}

fn read_within(paths: &[PathBuf], objects: &mut Cluster, limits: Limits) -> Vec<Unread> {
    let mut reader = InputReader {
        objects,
        limits,
        left: Rc::new(Cell::new(limits.unpacked)),
        unread: Vec::new(),
        of_insights: 0,
        logs: 0,
    };
    for path in paths {
        reader.path(path);
    }
    let of_insights = reader.of_insights;
    // Every must-gather has those copies, and `why` never reads them: no gap.
    let is_gap = of_insights > 0 && !reader.has_logs();
    let mut unread = reader.unread;
    if is_gap {
        unread.push(Unread::new(
            format!("insights-data, files: {of_insights}"),
            Help::OfInsights,
        ));
    }
    unread
}

/// A file that is read, by its name.
struct Source {
    /// The name that says what may be in it.
    path: PathBuf,
    file: SourceFile,
    /// Packings around it.
    depth: usize,
    /// A person named it, or what it is the whole content of.
    is_named: bool,
}

impl Source {
    /// It is one of the texts that a gather has beside objects and pods' logs.
    fn is_of_gather(&self) -> bool {
        let name = self
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let is_log = name.ends_with(".log");
        let begins = ["must-gather", "gather", "event", "timestamp"];
        let is_of_gather = || {
            let mut parts = self.path.iter().filter_map(|part| part.to_str());
            parts.any(|part| NEVER_READ.contains(&part))
                || begins.iter().any(|begin| name.starts_with(begin))
        };
        !self.is_named && (!is_log || is_of_gather())
    }
}

struct InputReader<'a> {
    objects: &'a mut Cluster,
    limits: Limits,
    /// Bytes that may still be unpacked.
    left: Rc<Cell<u64>>,
    unread: Vec<Unread>,
    /// Files of the Insights Operator, which are passed over.
    of_insights: usize,
    /// Logs that were read.
    logs: usize,
}

impl InputReader<'_> {
    /// Reads a file, or all files of a folder.
    fn path(&mut self, path: &Path) {
        let so_far = |reader: &Self| {
            (
                reader.objects.count + reader.objects.empty_lists,
                reader.logs,
                reader.unread.len(),
            )
        };
        let before = so_far(self);
        if path.is_dir() {
            self.folder(path);
        } else if let Err(why) = self.file(path, true) {
            self.note(named(path), why);
        }
        if so_far(self) == before {
            let why = match self.objects.purpose {
                Purpose::Sets => Help::NoSets,
                Purpose::Nodes => Help::NoNodes,
            };
            self.note(named(path), why);
        }
    }

    fn folder(&mut self, path: &Path) {
        let found = match folder::files(path, &|path| self.is_log(path)) {
            Ok(found) => found,
            Err(error) => return self.note(named(path), cause(&error)),
        };
        for (folder, error) in found.unread {
            self.note(named(&folder), cause(&error));
        }
        for link in found.links {
            self.note(named(&link), Help::FollowLink);
        }
        for file in found.unnamed {
            if let Ok(mut stream) = File::open(&file) {
                self.unnamed(named(&file), &mut stream);
            }
        }
        for file in found.files {
            let within = file.strip_prefix(path).unwrap_or(&file);
            if archive::is_of_insights(within) {
                self.of_insights += 1;
            } else if let Err(why) = self.file(&file, false) {
                self.note(named(&file), why);
            }
        }
    }

    /// Names a file of another name that has objects, or of which that cannot be told.
    fn unnamed(&mut self, what: String, stream: &mut dyn Read) {
        match self.is_of_objects(stream) {
            Ok(false) => {}
            Ok(true) => self.note(what, Help::Unnamed),
            Err(error) => self.note(what, broken(&error)),
        }
    }

    /// Tells whether the beginning of a text, also of a packed one, has objects that are read.
    fn is_of_objects(&self, stream: &mut dyn Read) -> io::Result<bool> {
        let (format, start) = start(stream)?;
        let mut whole = start.as_slice().chain(stream);
        let mut head = Vec::new();
        unpacked(format, &mut whole)
            .take(HEAD)
            .read_to_end(&mut head)?;
        // PowerShell writes two bytes a character.
        let text = String::from_utf8_lossy(&head).replace('\0', "");
        let is_more = |kind: &str| self.has_more(Path::new(""), kind);
        Ok(folder::has_objects(&text, &is_more))
    }

    /// Tells whether logs count as what was read.
    fn has_logs(&self) -> bool {
        self.objects.purpose == Purpose::Nodes
    }

    /// Tells whether a file of this path is a log; where these do not count, a text of another ending may
    /// be objects.
    fn is_log(&self, path: &Path) -> bool {
        is_log(path) && (self.has_logs() || path.extension().is_some_and(|end| end == "log"))
    }

    /// Tells whether a file of this path has such objects beside those of sets.
    fn has_more(&self, path: &Path, kind: &str) -> bool {
        self.has_logs() && is_in_file(path, kind)
    }

    fn note(&mut self, what: String, why: impl Into<Trouble>) {
        self.unread.push(Unread::new(what, why).hiding_sets(true));
    }

    fn file(&mut self, path: &Path, is_named: bool) -> Result<(), Trouble> {
        // A device may have no end.
        if std::fs::metadata(path).is_ok_and(|about| is_device(about.file_type())) {
            return Err("is a device, not a file".into());
        }
        let mut stream = opened(path).map_err(|error| cause(&error))?;
        let source = Source {
            path: path.to_owned(),
            file: SourceFile {
                shown: named(path),
                place: path.to_owned(),
            },
            depth: 0,
            is_named,
        };
        self.stream(&source, &mut stream)
    }

    /// Reads what is in a stream, whatever it is packed with.
    fn stream(&mut self, source: &Source, stream: &mut dyn Read) -> Result<(), Trouble> {
        let (format, start) = start(stream).map_err(|error| broken(&error))?;
        let mut whole = start.as_slice().chain(stream);
        if format != Format::Text && source.depth == self.limits.depth {
            return Err(Help::Unpack.after("is packed too often"));
        }
        let inner = Source {
            path: archive::unpacked_name(&source.path),
            file: source.file.clone(),
            depth: source.depth + 1,
            is_named: source.is_named,
        };
        match format {
            Format::Text => return self.text(source, &mut whole),
            Format::Tar => return self.archive(source, &mut whole),
            Format::Foreign(name, remedy) => {
                let what = format!("is packed with {name}, which is not read");
                return Err(Help::UnpackBy(remedy).after(what));
            }
            Format::Gzip | Format::Xz => {}
        }
        let mut unpacked = Bounded {
            stream: unpacked(format, &mut whole),
            left: Rc::clone(&self.left),
        };
        self.stream(&inner, &mut unpacked)
    }

    fn archive(&mut self, source: &Source, stream: &mut dyn Read) -> Result<(), Trouble> {
        let max = self.limits.members;
        let mut take = |member: Member<'_>| {
            let may_be = archive::may_have_objects(&member.path) || self.is_log(&member.path);
            if !(may_be || member.leads_out)
                && (member.is_link || !archive::is_unnamed(&member.path))
            {
                return;
            }
            if archive::is_of_insights(&member.path) {
                self.of_insights += usize::from(may_be);
                return;
            }
            let file = SourceFile {
                shown: format!("{} in {}", named(&member.path), source.file.shown),
                place: source
                    .file
                    .place
                    .join(member.path.strip_prefix("/").unwrap_or(&member.path)),
            };
            if !(may_be || member.leads_out) {
                return self.unnamed(file.shown, member.content);
            }
            let inner = Source {
                file,
                path: member.path,
                depth: source.depth + 1,
                is_named: false,
            };
            let read = if member.is_link {
                Err(Help::FollowLink.into())
            } else {
                self.stream(&inner, member.content)
            };
            if let Err(why) = read {
                self.note(inner.file.shown, why);
            }
        };
        archive::members(stream, max, &mut take).map_err(|error| broken(&error))
    }

    /// The end of a log: one that is not known counts where a person meant it.
    fn heard(&mut self, source: &Source, heard: io::Result<()>) -> Result<(), Trouble> {
        let is_unknown = |error: &io::Error| error.kind() == io::ErrorKind::Unsupported;
        match heard {
            Err(error) if is_unknown(&error) && source.is_of_gather() => Ok(()),
            Err(error) if is_unknown(&error) => Err(Help::NoNodes.into()),
            heard => {
                self.logs += 1;
                heard.map_err(|error| broken(&error))
            }
        }
    }

    /// The whole of a text that may have objects.
    fn whole(&self, stream: &mut dyn Read) -> Result<String, Trouble> {
        let mut bytes = Vec::new();
        let read = stream.take(self.limits.file + 1).read_to_end(&mut bytes);
        read.map_err(|error| broken(&error))?;
        if bytes.len() as u64 > self.limits.file {
            let mib = self.limits.file >> 20;
            return Err(Help::Split.after(format!("is larger than {mib} MiB")));
        }
        Ok(decode(bytes)?)
    }

    /// Adds the objects of a text.
    fn text(&mut self, source: &Source, stream: &mut dyn Read) -> Result<(), Trouble> {
        let mut head = Vec::new();
        if !self.has_logs() && !source.is_named && self.is_log(&source.path) {
            // The clock is that of all that was read; what else a log says is for `why`.
            source.file.clone_into(&mut self.objects.staged.file);
            let _ = self.objects.add_log(&source.path, stream);
            return Ok(());
        }
        if self.has_logs() {
            let is_log = is_log(&source.path);
            // What a person names may be a log of any name.
            if !is_log && source.is_named {
                let read = (&mut *stream).take(HEAD).read_to_end(&mut head);
                read.map_err(|error| broken(&error))?;
            }
            if is_log || is_log_text(&head) {
                let mut whole = head.as_slice().chain(stream);
                source.file.clone_into(&mut self.objects.staged.file);
                let added = self.objects.add_log(&source.path, &mut whole);
                return self.heard(source, added);
            }
        }
        let text = self.whole(&mut head.as_slice().chain(stream))?;
        let also = |kind: &str| self.has_more(&source.path, kind);
        let is_of_interest = || {
            let is_empty = self.has_logs() && is_empty_list(&text);
            (is_empty || folder::is_of_interest(&source.path, &text, &also))
                && !folder::is_other_of_insights(&source.path, &text)
        };
        if !source.is_named && !is_of_interest() {
            return Ok(());
        }
        if text.trim().is_empty() {
            return Err("is empty".into());
        }
        if let Some(node) = folder::node_of_aleph(&source.path) {
            return add_aleph(self.objects, node, text.as_bytes());
        }
        let before = (self.objects.count, self.objects.foreign);
        let says = |objects: &Cluster| objects.count - objects.foreign + objects.empty_lists;
        let before_it = says(self.objects);
        let added = add_file(self.objects, &source.file, &text);
        // Among objects it is one more of a kind that says nothing.
        if source.is_named
            && says(self.objects) == before_it
            && let Some(own) = own_document(&text)
        {
            (self.objects.count, self.objects.foreign) = before;
            return Err(own);
        }
        added.map_err(Trouble::printable)
    }
}

#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

/// The format of a stream, and its first bytes.
fn start(stream: &mut dyn Read) -> io::Result<(Format, Vec<u8>)> {
    let mut head = Vec::new();
    stream.take(BLOCK as u64).read_to_end(&mut head)?;
    Ok((Format::of(&head), head))
}

/// Content of a stream of this format, or the stream where it is packed with nothing that is read.
fn unpacked<'s>(format: Format, stream: &'s mut dyn Read) -> Box<dyn Read + 's> {
    match format {
        Format::Gzip => Box::new(MultiGzDecoder::new(stream)),
        Format::Xz => Box::new(XzReader::new_mem_limit(stream, true, XZ_MEMORY)),
        Format::Text | Format::Tar | Format::Foreign(..) => Box::new(stream),
    }
}

/// Tells if a text is a list without items, as `oc get -o json` prints it.
fn is_empty_list(text: &str) -> bool {
    let plain: String = text
        .chars()
        .take(4_096)
        .filter(|c| !c.is_whitespace())
        .collect();
    plain.contains(r#""items":[]"#) && plain.contains(r#"List""#)
}

/// Kinds of documents that are no objects of a cluster and may be taken for them.
const OWN: [&str; 4] = [
    "BootImageAudit",
    "BootImageAuditList",
    "BootImageSkewPolicy",
    "WhyReport",
];

/// The trouble with a document of such a kind.
fn own_document(text: &str) -> Option<Trouble> {
    let head: String = text.chars().take(400).collect();
    let (_, kind) = head.split_once("kind")?;
    let kind = kind.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = kind.find(|c: char| !c.is_alphanumeric());
    let kind = kind.get(..end.unwrap_or(kind.len()))?;
    let kind = OWN.into_iter().find(|own| *own == kind)?;
    Some(Help::Own(kind).after(format!("this is a {kind}, not objects of a cluster")))
}

/// A text as an editor or a shell wrote it: Windows PowerShell redirects as UTF-16, with a mark.
///
/// # Errors
/// It is in neither UTF-8 nor UTF-16.
pub fn decode(bytes: Vec<u8>) -> Result<String, String> {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let (units, odd) = rest.as_chunks();
        let units: Vec<u16> = units.iter().copied().map(unit).collect();
        String::from_utf16(&units)
            .ok()
            .filter(|_| odd.is_empty())
            .ok_or_else(|| "is not UTF-16, though it begins so".to_owned())
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => {
            let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
            Ok(match text.strip_prefix('\u{feff}') {
                Some(rest) => rest.to_owned(),
                None => text,
            })
        }
    }
}

/// The trouble with a stream that could not be read to its end.
fn broken(error: &io::Error) -> Trouble {
    if error.get_ref().is_some_and(|inner| inner.is::<TooMuch>()) {
        let gib = LIMITS.unpacked >> 30;
        let what = format!("unpacks to more than {gib} GiB in all, which is more than is read");
        return Help::UnpackFolders.after(what);
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "ends early: it was cut short".into(),
        // What packs and archives say of themselves.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
            let error = printable(&error.to_string());
            format!("is broken, or was cut short: {error}").into()
        }
        _ => cause(error).into(),
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
