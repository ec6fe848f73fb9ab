//! The scripts that admins run where the cluster is: they gather what is read (pure).

use super::groups::*;
use super::kind::{Kind, Purpose};
use super::kind_table::asked_for;

/// A shell script that makes joined nodes label themselves, one after another.
pub const LABELS: &str = include_str!("labels.sh");

/// A shell script that collects the aleph files of joined nodes.
pub const ALEPHS: &str = include_str!("alephs.sh");

/// A shell script that gathers the objects, and for some purposes logs. A resource that the cluster does not
/// have leaves no file, one that cannot be read a `Status`.
pub fn commands(purpose: Purpose) -> String {
    let mut script = include_str!("gather.sh").to_owned();
    for kind in asked_for(Purpose::Sets).filter(|kind| kind.kind != SECRET) {
        script += &kind.gather();
    }
    script += include_str!("user-data.sh");
    let mut more = String::new();
    if purpose == Purpose::Nodes {
        more += include_str!("gather-nodes.sh");
        let own = asked_for(purpose).filter(|kind| kind.purpose == purpose);
        more.extend(own.map(Kind::gather));
    }
    script += &format!(
        "rm -f objects/*.{INFRASTRUCTURE}.json\n\
         for kind in $(printf '%s\\n' \"$kinds\" | grep -E 'machines\\.{0}|machinepools\\.{0}|machinetemplates\\.{0}'); do\n  gather \"$kind\" -A\ndone\n{more}\
         if [ -n \"$failed\" ]; then\n  echo \"not read:$failed, as audit and why will say\" >&2\n  exit 1\nfi\n",
        INFRASTRUCTURE.replace('.', "\\.")
    );
    script
}

impl Kind {
    /// The lines of the script that gather it.
    fn gather(&self) -> String {
        let (name, plural) = (self.name(), self.plural);
        let of_place = |place: Option<&str>| {
            let of = place.map_or_else(String::new, |place| format!("-n {place} "));
            let file = place.unwrap_or_default();
            let keep = format!("keep {plural}-{file}.json get {name} {of}");
            match (&*self.names, self.log) {
                (_, Some((label, container))) => {
                    format!("{keep}-l {label} -o json\nlogs {file} {label} {container}\n")
                }
                ([], None) if place.is_none() => format!("gather {name} -A\n"),
                ([], None) => format!("{keep}-o json\n"),
                ([one], None) if self.purpose == Purpose::Nodes => {
                    format!("keep {one}.json get {name} {of}{one} -o json\n")
                }
                ([one], None) => format!("gather {name} {of}{one}\n"),
                (names, None) => format!("gather {name} --ignore-not-found {}\n", names.join(" ")),
            }
        };
        self.places().into_iter().map(of_place).collect()
    }
}
