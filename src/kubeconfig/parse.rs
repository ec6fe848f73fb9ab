//! Parses the text of a kubeconfig into what its current context says. The caller reads the files
//! that it names.

use super::server::{Server, is_host_name};
use super::yaml;
use super::{Allow, ClientCertificate, Kubeconfig, Secret};
use crate::node::der::{CERTIFICATE, sections};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// Reads a file that a kubeconfig names.
type Read<'a> = &'a dyn Fn(&str) -> Result<Secret, String>;

/// Parses `text`, the kubeconfig at `path`, and reads with `read` the files that it names.
///
/// # Errors
/// The first defect, as the field and what is wrong with it; never a value.
pub fn parse(path: &str, text: &str, allow: Allow, read: Read<'_>) -> Result<Kubeconfig, String> {
    let tree = yaml::read(text)?;
    let top = Section::of("", &tree.0)?;
    if top.text("kind")?.is_some_and(|kind| kind != "Config") {
        return Err(top.wrong("kind", "is not Config: this is not a kubeconfig"));
    }
    let current = top.required("current-context")?;
    let context = top.named("contexts", "context", current, "current-context")?;
    let section =
        |list, inner| top.named(list, inner, context.required(inner)?, &context.path(inner));
    let (cluster, user) = (section("clusters", "cluster")?, section("users", "user")?);
    let insecure = cluster.flag("insecure-skip-tls-verify")?;
    let ca = cluster.trusted_ca(insecure, allow, read)?;
    if cluster.text("proxy-url")?.is_some() {
        return Err(cluster.wrong(
            "proxy-url",
            "is not supported: the API server is always reached directly; remove it",
        ));
    }
    let tls_server_name = cluster.text("tls-server-name")?;
    if tls_server_name.is_some_and(|name| !is_host_name(name)) {
        return Err(cluster.wrong("tls-server-name", "is not a DNS name"));
    }
    let server =
        Server::parse(cluster.required("server")?).map_err(|what| cluster.wrong("server", what))?;
    let (token, client) = user.credentials(read)?;
    let ca = ca.map(|ca| ca.certificate()).transpose()?;
    Ok(Kubeconfig {
        path: path.to_owned(),
        server,
        ca: ca.map(|ca| ca.expose().to_vec()).unwrap_or_default(),
        tls_server_name: tls_server_name.map(str::to_owned),
        insecure,
        token,
        client,
    })
}

/// The content of a field or of the file that it names. `at` is its name in errors:
/// `users[node].user.client-key`, and the file.
struct PemField {
    at: String,
    content: Secret,
}

impl PemField {
    fn certificate(&self) -> Result<Secret, String> {
        self.pem("certificate", &[CERTIFICATE])
    }

    fn key(&self) -> Result<Secret, String> {
        let labels = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];
        self.pem("private key", &labels)
    }

    /// The content, which must be PEM with at least one block of this kind. It may have others (`EC
    /// PARAMETERS`, a key beside a certificate).
    fn pem(&self, kind: &str, labels: &[&str]) -> Result<Secret, String> {
        let Some(found) = sections(self.content.expose()) else {
            return Err(format!("{}: is not valid PEM", self.at));
        };
        let mut found = found.iter().map(|(label, _)| label.as_str());
        match found.any(|label| labels.contains(&label)) {
            true => Ok(self.content.clone()),
            false => Err(format!("{}: holds no {kind} in PEM", self.at)),
        }
    }
}

/// A name as errors show it. In a damaged file a name may run on into the following lines, which
/// may hold a token.
fn shown(name: &str) -> &str {
    let fits = name.len() <= 48
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.:/@".contains(&b));
    if fits { name } else { "..." }
}

/// A mapping of the file, and its path.
struct Section<'a> {
    at: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Section<'a> {
    fn of(at: &str, value: &'a Value) -> Result<Self, String> {
        match value {
            Value::Object(fields) => Ok(Self {
                at: at.to_owned(),
                fields,
            }),
            _ if at.is_empty() => Err("is not a mapping: this is not a kubeconfig".to_owned()),
            _ => Err(format!("{at}: is not a mapping")),
        }
    }

    fn path(&self, field: &str) -> String {
        if self.at.is_empty() {
            field.to_owned()
        } else {
            format!("{}.{field}", self.at)
        }
    }

    fn wrong(&self, field: &str, what: &str) -> String {
        format!("{}: {what}", self.path(field))
    }

    fn has(&self, field: &str) -> bool {
        self.fields
            .get(field)
            .is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
    }

    /// The text of a field; `None` where it is absent, null or empty, as for client-go.
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

    fn required(&self, field: &str) -> Result<&'a str, String> {
        self.text(field)?
            .ok_or_else(|| self.wrong(field, "is missing or empty"))
    }

    /// Reads the file that `field` names.
    fn file(&self, field: &str, read: Read<'_>) -> Result<Option<PemField>, String> {
        let Some(file) = self.text(field)? else {
            return Ok(None);
        };
        let at = format!("{}: {}", self.path(field), crate::text::printable(file));
        let content = read(file).map_err(|why| format!("{at}: {why}"))?;
        Ok(Some(PemField { at, content }))
    }

    /// The content of `FIELD-data` (base64), else of the file that `FIELD` names.
    fn material(&self, field: &str, read: Read<'_>) -> Result<Option<PemField>, String> {
        let data = format!("{field}-data");
        // Base64 may be folded over lines.
        if let Some(Value::String(text)) = self.fields.get(&data)
            && !text.is_empty()
        {
            let mut unfolded = Zeroizing::new(Vec::with_capacity(text.len()));
            unfolded.extend(text.bytes().filter(|b| !b.is_ascii_whitespace()));
            let bytes = STANDARD
                .decode(&*unfolded)
                .map_err(|_| self.wrong(&data, "is not base64"))?;
            return Ok(Some(PemField {
                at: self.path(&data),
                content: Secret::new(bytes),
            }));
        }
        self.text(&data)?;
        self.file(field, read)
    }

    /// The bearer token: the content of the file that `tokenFile` names, else `token`.
    fn token(&self, read: Read<'_>) -> Result<Option<Secret>, String> {
        let here = |token: &str| PemField {
            at: self.path("token"),
            content: Secret::new(token.into()),
        };
        let material = match self.file("tokenFile", read)? {
            None => self.text("token")?.map(here),
            file => file,
        };
        let Some(PemField { at, content }) = material else {
            return Ok(None);
        };
        let token = content.expose().trim_ascii();
        // Only what an HTTP header may contain: a line break would begin another header.
        if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
            return Err(format!(
                "{at}: is empty, or has characters that no bearer token has"
            ));
        }
        Ok(Some(Secret::new(token.to_vec())))
    }

    /// The CA of a cluster. There is exactly one way to trust its server: this CA, or where `allow`
    /// says so, `insecure`.
    fn trusted_ca(
        &self,
        insecure: bool,
        allow: Allow,
        read: Read<'_>,
    ) -> Result<Option<PemField>, String> {
        let ca = self.material("certificate-authority", read)?;
        let (field, what) = match (insecure, allow.insecure, &ca) {
            (true, false, _) => (
                "insecure-skip-tls-verify",
                "would send the credentials to any server that answers; remove it and name the CA, or run with --insecure-skip-tls-verify",
            ),
            (true, true, Some(_)) => (
                "insecure-skip-tls-verify",
                "contradicts certificate-authority: remove one of them",
            ),
            (false, _, None) => (
                "certificate-authority-data",
                "is missing, and so is certificate-authority: only the CA named here is trusted, never the host's list",
            ),
            (true, true, None) | (false, _, Some(_)) => return Ok(ca),
        };
        Err(self.wrong(field, what))
    }

    /// The token and the client certificate of a user, at least one of them.
    fn credentials(
        &self,
        read: Read<'_>,
    ) -> Result<(Option<Secret>, Option<ClientCertificate>), String> {
        for field in ["exec", "auth-provider", "username", "password", "as"] {
            if self.has(field) {
                return Err(self.wrong(
                    field,
                    "is not supported: use a token or a client certificate",
                ));
            }
        }
        let token = self.token(read)?;
        let client = self.client(read)?;
        if token.is_none() && client.is_none() {
            return Err(self.wrong(
                "token",
                "is missing, and so is every other credential (tokenFile, client-certificate, client-certificate-data)",
            ));
        }
        Ok((token, client))
    }

    /// The client certificate. The kubelet keeps certificate and key in one file, and names it in
    /// both fields. Without `client-key` the key is taken from the certificate's PEM.
    fn client(&self, read: Read<'_>) -> Result<Option<ClientCertificate>, String> {
        let certificate = self.material("client-certificate", read)?;
        let key = self.material("client-key", read)?;
        let Some(certificate) = certificate else {
            let what = "is missing, and so is client-certificate, but there is a client key";
            return match key {
                Some(_) => Err(self.wrong("client-certificate-data", what)),
                None => Ok(None),
            };
        };
        Ok(Some(ClientCertificate {
            key: key.as_ref().unwrap_or(&certificate).key()?,
            certificate: certificate.certificate()?,
        }))
    }

    /// The mapping `inner` in the entry of `list` that has this name.
    fn named(
        &self,
        list: &str,
        inner: &str,
        name: &str,
        wanted_by: &str,
    ) -> Result<Section<'a>, String> {
        let entries = match self.fields.get(list) {
            Some(Value::Array(entries)) => entries.as_slice(),
            None | Some(Value::Null) => &[],
            Some(_) => return Err(self.wrong(list, "is not a list")),
        };
        let at = format!("{list}[{}]", shown(name));
        let entry = entries
            .iter()
            .find(|entry| entry.get("name").and_then(Value::as_str) == Some(name));
        let missing = || format!("{at}: is missing; {wanted_by} names it");
        let entry = Section::of(&at, entry.ok_or_else(missing)?)?;
        let path = entry.path(inner);
        let value = entry
            .fields
            .get(inner)
            .ok_or_else(|| entry.wrong(inner, "is missing"))?;
        Section::of(&path, value)
    }
}
