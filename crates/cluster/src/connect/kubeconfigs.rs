//! Kubeconfigs: which files there are, and what they say together.

use super::login::{Environment, Login, LoginRequest, in_pod, log_in, trouble_with};
use crate::file::{cause, name as name_of, opened};
use crate::text::printable;
use crate::trouble::{Help, Trouble};
use kube_client::config::{Kubeconfig, KubeconfigError, NamedContext};
use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest kubeconfig, in bytes: one of hundreds of clusters has some MiB.
const MAX_BYTES: u64 = 8 << 20;

const MISSING: &str = "there is no such file";

/// Reads the kubeconfig that is asked for, else those of `KUBECONFIG`, else `.kube/config` at home, and
/// what they name. Where there is none of these, and this is a pod, its service account is used.
///
/// # Errors
/// One of these cannot be had or is not supported. The text names files and fields, never a value.
pub async fn load(asked: LoginRequest<'_>, around: Environment<'_>) -> Result<Login, Trouble> {
    match Kubeconfigs::find(asked.file, around)? {
        Ok(kubeconfigs) => kubeconfigs.login(asked, around).await,
        Err(missing) => {
            let pod = in_pod(around, asked.insecure);
            pod.filter(|_| asked.file.is_none() && asked.context.is_none())
                .ok_or(missing)
        }
    }
}

/// The names of files, as `KUBECONFIG` has them.
fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| name_of(file)).collect();
    names.join(":")
}

/// The trouble where there is nothing to log in with.
fn missing(files: &[PathBuf]) -> Trouble {
    let what = match files {
        [] => "neither KUBECONFIG nor HOME is set".to_owned(),
        files => format!("{}: {MISSING}", names(files)),
    };
    Help::NameKubeconfig.after(what)
}

/// Kubeconfigs merged, for several logins.
pub struct Kubeconfigs {
    merged: Kubeconfig,
    /// The files, for errors.
    name: String,
}

impl Kubeconfigs {
    /// Reads the files; where there is none of them, gives back what to do.
    ///
    /// # Errors
    /// One cannot be read. The text names files and fields, never a value.
    pub fn find(
        file: Option<&Path>,
        around: Environment<'_>,
    ) -> Result<Result<Self, Trouble>, Trouble> {
        let (files, may_miss) = files(file, around);
        let name = names(&files);
        let read = read_all(&files, may_miss)?;
        Ok(read
            .map(|merged| Self { merged, name })
            .ok_or_else(|| missing(&files)))
    }

    /// Reads the files.
    ///
    /// # Errors
    /// There is none, or one that cannot be read. The text names files and fields, never a value.
    pub fn read(file: Option<&Path>, around: Environment<'_>) -> Result<Self, Trouble> {
        Self::find(file, around)?
    }

    /// The names of the contexts, the current one first: of several for one cluster it counts.
    pub fn contexts(&self) -> Vec<String> {
        let current = self.merged.current_context.as_deref();
        let all = self.merged.contexts.iter().map(|context| &context.name);
        let (mut first, others): (Vec<String>, Vec<String>) = all
            .cloned()
            .partition(|name| Some(name.as_str()) == current);
        first.extend(others);
        first
    }

    /// # Errors
    /// There is no such context; the text says which there are.
    pub fn check(&self, context: &str) -> Result<(), Trouble> {
        if self.context(context).is_some() {
            return Ok(());
        }
        let names: Vec<&str> = self
            .merged
            .contexts
            .iter()
            .map(|entry| &*entry.name)
            .collect();
        let has = match names.as_slice() {
            [] => "there is none".to_owned(),
            [only] => format!("there is {}", printable(only)),
            names => format!("there are {}", printable(&names.join(", "))),
        };
        let what = format!(
            "context {}: there is no such context; {has}",
            printable(context)
        );
        Err(Trouble::from(what).of(&self.name))
    }

    /// The names of a context's cluster and user; its own where it has none.
    pub fn place(&self, context: &str) -> (String, String) {
        let found = self.context(context);
        let found = found.and_then(|found| found.context.as_ref());
        found.map_or_else(
            || (context.to_owned(), String::new()),
            |found| {
                let user = found.user.clone().unwrap_or_default();
                (found.cluster.clone(), user)
            },
        )
    }

    fn context(&self, name: &str) -> Option<&NamedContext> {
        let all = &self.merged.contexts;
        all.iter().find(|context| context.name == name)
    }

    /// Logs in by the context that is asked for, else the current one.
    ///
    /// # Errors
    /// As [`load`].
    pub async fn login(
        &self,
        asked: LoginRequest<'_>,
        around: Environment<'_>,
    ) -> Result<Login, Trouble> {
        if let Some(context) = asked.context {
            self.check(context)?;
        }
        let current = self.merged.current_context.as_deref();
        let context = asked.context.or(current).map(str::to_owned);
        let found = context.as_deref().and_then(|context| self.context(context));
        if found.is_none() {
            let why = context.map_or(
                KubeconfigError::CurrentContextNotSet,
                KubeconfigError::LoadContext,
            );
            return Err(trouble_with(&why).of(&self.name));
        }
        let (cluster, user) = self.place(context.as_deref().unwrap_or_default());
        // What is of other contexts is not copied for each.
        let own = Kubeconfig {
            current_context: context,
            contexts: found.cloned().into_iter().collect(),
            clusters: one(&self.merged.clusters, |entry| entry.name == cluster),
            auth_infos: one(&self.merged.auth_infos, |entry| entry.name == user),
            ..Kubeconfig::default()
        };
        log_in(own, self.name.clone(), &user, asked, around).await
    }
}

fn one<T: Clone>(all: &[T], is: impl Fn(&T) -> bool) -> Vec<T> {
    all.iter()
        .find(|entry| is(entry))
        .cloned()
        .into_iter()
        .collect()
}

/// The files to read, and whether some of them may be missing.
fn files(asked: Option<&Path>, around: Environment<'_>) -> (Vec<PathBuf>, bool) {
    let variable = |name| (around.variable)(name).filter(|value| !value.is_empty());
    match (asked, variable("KUBECONFIG"), variable("HOME")) {
        (Some(file), _, _) => (vec![file.to_owned()], false),
        (None, Some(list), _) => (
            std::env::split_paths(&list)
                .filter(|file| file != Path::new(""))
                .collect(),
            true,
        ),
        (None, None, Some(home)) => (vec![Path::new(&home).join(".kube/config")], true),
        (None, None, None) => (Vec::new(), true),
    }
}

/// The files merged; `None` where there is none of them. The first file that names a
/// thing wins, as for client-go.
fn read_all(files: &[PathBuf], may_miss: bool) -> Result<Option<Kubeconfig>, Trouble> {
    let mut merged: Option<Kubeconfig> = None;
    for file in files {
        let of_file = |trouble: Trouble| trouble.of(name_of(file));
        let read = match read(file).map_err(of_file)? {
            Some(read) => read,
            None if may_miss => continue,
            None => return Err(of_file(MISSING.into())),
        };
        merged = Some(match merged {
            None => read,
            Some(merged) => merged
                .merge(read)
                .map_err(|error| of_file(trouble_with(&error)))?,
        });
    }
    Ok(merged)
}

/// A single file; `None` where there is none.
fn read(file: &Path) -> Result<Option<Kubeconfig>, Trouble> {
    // A person means something to read once: `-`, or a shell's `<(command)`.
    let is_stdin = file == Path::new("-");
    let about = match std::fs::metadata(file) {
        _ if is_stdin => None,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cause(&error).into()),
        Ok(about) if about.is_dir() => return Err("is a directory".into()),
        Ok(about) => Some(about).filter(Metadata::is_file),
    };
    let too_large = || format!("is larger than {MAX_BYTES} bytes").into();
    let Some(about) = about else {
        let mut text = zeroize::Zeroizing::new(String::new());
        let stream = opened(file).map_err(|error| cause(&error))?;
        let size = stream.take(MAX_BYTES + 1).read_to_string(&mut text);
        if size.map_err(|_| "is not UTF-8".to_owned())? as u64 > MAX_BYTES {
            return Err(too_large());
        }
        let read = Kubeconfig::from_yaml(&text).map_err(|error| trouble_with(&error))?;
        return is_kubeconfig(read).map(Some);
    };
    if about.len() > MAX_BYTES {
        return Err(too_large());
    }
    let absolute = std::path::absolute(file).map_err(|error| cause(&error))?;
    // Paths in it are relative to it.
    let read = Kubeconfig::read_from(absolute).map_err(|error| trouble_with(&error))?;
    is_kubeconfig(read).map(Some)
}

/// Gives back a kubeconfig that is one: any other object reads as one without contexts.
fn is_kubeconfig(read: Kubeconfig) -> Result<Kubeconfig, Trouble> {
    match read.kind.as_deref() {
        None | Some("" | "Config") => Ok(read),
        Some(kind) => Err(format!("this is a {}, not a kubeconfig", printable(kind)).into()),
    }
}
