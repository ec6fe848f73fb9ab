//! Who asks: bearer tokens and client certificates to users, as the cluster's authenticators do it.

/// What `/etc/kubernetes/kubeconfig` of a node carries.
pub const BOOTSTRAP_TOKEN: &str = "test-bootstrap-token.eyJhbGciOiJSUzI1NiJ9.c2tld2d1YXJk";
/// The user behind it.
pub const BOOTSTRAP_USER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
/// A cluster administrator's.
pub const ADMIN_TOKEN: &str = "test-admin-token.eyJhbGciOiJSUzI1NiJ9.YWRtaW4";
/// The user behind that.
pub const ADMIN_USER: &str = "system:admin";

/// The user of a request; `Err` where credentials are given and not known (401).
pub fn user(authorization: Option<&str>, certificate: Option<&[u8]>) -> Result<String, ()> {
    // client-go and the API server agree: a certificate wins over a token.
    if let Some(der) = certificate {
        let (_, certificate) = x509_parser::parse_x509_certificate(der).map_err(|_| ())?;
        let name = certificate
            .subject()
            .iter_common_name()
            .next()
            .and_then(|name| name.as_str().ok())
            .ok_or(())?;
        return Ok(name.to_owned());
    }
    match authorization {
        None => Ok("system:anonymous".to_owned()),
        Some(value) => match value.strip_prefix("Bearer ") {
            Some(BOOTSTRAP_TOKEN) => Ok(BOOTSTRAP_USER.to_owned()),
            Some(ADMIN_TOKEN) => Ok(ADMIN_USER.to_owned()),
            _ => Err(()),
        },
    }
}
