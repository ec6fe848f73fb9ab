//! The text of a kubeconfig into what the current context says (pure).

use super::secret::Secret;
use super::server::{Server, is_dns_name};
use super::yaml;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// What the current context says; files are named, not yet read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The API server.
    pub server: Server,
    /// The CA certificates.
    pub ca: Option<Field>,
    /// `tls-server-name`.
    pub tls_server_name: Option<String>,
    /// `insecure-skip-tls-verify`.
    pub insecure: bool,
    /// The bearer token.
    pub token: Option<Field>,
    /// The client certificate, and its key where that is not in the same PEM.
    pub client: Option<(Field, Option<Field>)>,
}

/// A field whose content stands in the kubeconfig or in a file that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, such as `users[node].user.token`.
    pub name: String,
    /// What it says.
    pub content: Content,
}

/// What a [`Field`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// This.
    Here(Secret),
    /// What this file says; a relative path starts at the kubeconfig's directory.
    InFile(String),
}

/// Reads the text of a kubeconfig. `insecure` allows `insecure-skip-tls-verify`.
///
/// # Errors
/// The first defect found, as the field and what is wrong with it. Never a value.
pub fn parse(text: &str, insecure: bool) -> Result<Document, String> {
    let tree = yaml::read(text)?;
    let top = Section::of("", &tree.0)?;
    let kind = top.text("kind")?.unwrap_or("Config");
    if kind != "Config" {
        return Err(top.wrong("kind", "is not Config: this is no kubeconfig"));
    }
    let name = top.text("current-context")?.ok_or_else(|| top.wrong("current-context", "is missing or empty"))?;
    let context = top.named("contexts", "context", name, "current-context")?;
    let cluster_name = context.text("cluster")?.ok_or_else(|| context.wrong("cluster", "is missing or empty"))?;
    let user_name = context.text("user")?.ok_or_else(|| context.wrong("user", "is missing or empty"))?;
    let cluster = top.named("clusters", "cluster", cluster_name, &context.path("cluster"))?;
    let user = top.named("users", "user", user_name, &context.path("user"))?;

    let skip = cluster.flag("insecure-skip-tls-verify")?;
    let ca = cluster.material("certificate-authority")?;
    match (skip, insecure, &ca) {
        (true, false, _) => {
            let what =
                "would send the credentials to any server that answers; remove it and name the CA, or run with --insecure-skip-tls-verify";
            return Err(cluster.wrong("insecure-skip-tls-verify", what));
        }
        (true, true, Some(_)) => {
            return Err(cluster.wrong("insecure-skip-tls-verify", "contradicts certificate-authority: remove one of them"));
        }
        (false, _, None) => {
            let what = "is missing, and so is certificate-authority: only the CA named here is trusted, never the host's list";
            return Err(cluster.wrong("certificate-authority-data", what));
        }
        _ => {}
    }
    if cluster.text("proxy-url")?.is_some() {
        return Err(cluster.wrong("proxy-url", "is not supported: the API server is always reached directly; remove it"));
    }
    let tls_server_name = cluster.text("tls-server-name")?;
    if tls_server_name.is_some_and(|name| !is_dns_name(name)) {
        return Err(cluster.wrong("tls-server-name", "is not a DNS name"));
    }
    let server = cluster.text("server")?.ok_or("is missing or empty").and_then(Server::parse).map_err(|what| cluster.wrong("server", what));

    for field in ["exec", "auth-provider", "username", "password", "as"] {
        if user.has(field) {
            return Err(user.wrong(field, "is not supported: use a token or a client certificate"));
        }
    }
    let token = match user.text("tokenFile")? {
        Some(file) => Some(Field { name: user.path("tokenFile"), content: Content::InFile(file.to_owned()) }),
        None => user.text("token")?.map(|token| Field { name: user.path("token"), content: Content::Here(Secret::new(token.into())) }),
    };
    let client = match (user.material("client-certificate")?, user.material("client-key")?) {
        (Some(certificate), key) => Some((certificate, key)),
        (None, Some(_)) => {
            return Err(user.wrong("client-certificate-data", "is missing, and so is client-certificate, but there is a client key"));
        }
        (None, None) => None,
    };
    if token.is_none() && client.is_none() {
        return Err(
            user.wrong("token", "is missing, and so is every other credential (tokenFile, client-certificate, client-certificate-data)")
        );
    }
    Ok(Document { server: server?, ca, tls_server_name: tls_server_name.map(str::to_owned), insecure: skip, token, client })
}

/// A name as errors show it. In a damaged file a name may have swallowed the lines that follow it, a token among them.
fn shown(name: &str) -> &str {
    let fits = name.len() <= 48 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/@".contains(&b));
    if fits { name } else { "..." }
}

/// One mapping of the file, and where it stands.
struct Section<'a> {
    at: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Section<'a> {
    fn of(at: &str, value: &'a Value) -> Result<Self, String> {
        match value {
            Value::Object(fields) => Ok(Self { at: at.to_owned(), fields }),
            _ if at.is_empty() => Err("is not a mapping: this is no kubeconfig".to_owned()),
            _ => Err(format!("{at}: is not a mapping")),
        }
    }

    fn path(&self, field: &str) -> String {
        if self.at.is_empty() { field.to_owned() } else { format!("{}.{field}", self.at) }
    }

    fn wrong(&self, field: &str, what: &str) -> String {
        format!("{}: {what}", self.path(field))
    }

    fn has(&self, field: &str) -> bool {
        self.fields.get(field).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
    }

    /// A text; absent, null and empty are the same, as for client-go.
    fn text(&self, field: &str) -> Result<Option<&'a str>, String> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) if text.chars().any(char::is_control) => {
                Err(self.wrong(field, "has a control character or a line break"))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(field, "is not a text")),
        }
    }

    fn flag(&self, field: &str) -> Result<bool, String> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(field, "is neither true nor false")),
        }
    }

    /// `FIELD-data` in base64, which wins, or the file in `FIELD`.
    fn material(&self, field: &str) -> Result<Option<Field>, String> {
        let data = format!("{field}-data");
        // Base64 may be folded over lines.
        if let Some(Value::String(text)) = self.fields.get(&data)
            && !text.is_empty()
        {
            let mut unfolded = Zeroizing::new(Vec::with_capacity(text.len()));
            unfolded.extend(text.bytes().filter(|b| !b.is_ascii_whitespace()));
            let bytes = STANDARD.decode(&*unfolded).map_err(|_| self.wrong(&data, "is not base64"))?;
            return Ok(Some(Field { name: self.path(&data), content: Content::Here(Secret::new(bytes)) }));
        }
        self.text(&data)?;
        let file = self.text(field)?;
        Ok(file.map(|file| Field { name: self.path(field), content: Content::InFile(file.to_owned()) }))
    }

    /// The entry of `list` with this name, and its inner mapping.
    fn named(&self, list: &str, inner: &str, name: &str, wanted_by: &str) -> Result<Section<'a>, String> {
        let entries = match self.fields.get(list) {
            Some(Value::Array(entries)) => entries.as_slice(),
            None | Some(Value::Null) => &[],
            Some(_) => return Err(self.wrong(list, "is not a list")),
        };
        let at = format!("{list}[{}]", shown(name));
        let entry = entries.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name));
        let missing = || format!("{at}: is missing; {wanted_by} names it");
        let entry = Section::of(&at, entry.ok_or_else(missing)?)?;
        let path = entry.path(inner);
        let value = entry.fields.get(inner).ok_or_else(|| entry.wrong(inner, "is missing"))?;
        Section::of(&path, value)
    }
}
