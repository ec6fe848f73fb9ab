//! Requests over our own TLS: reqwest with rustls and ring, HTTP/1.1, and no CA but the
//! kubeconfig's.

mod classify;
mod config;
mod provider;

use super::{Failure, Limits, Request, Response};
use crate::kubeconfig::Kubeconfig;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Method, Url, redirect};
use std::sync::Arc;
use std::time::Duration;

/// A client for one API server.
#[derive(Debug)]
pub(super) struct Tls {
    client: Client,
    /// The server's URL, with the name that its certificate must have.
    url: Url,
    limits: Limits,
}

impl Tls {
    pub(super) fn new(kubeconfig: &Kubeconfig, limits: Limits) -> Result<Self, String> {
        let mut url = Url::parse(&kubeconfig.server.to_string())
            .map_err(|error| format!("server: {error}"))?;
        let mut headers = HeaderMap::new();
        if let Some(token) = &kubeconfig.token {
            let value = zeroize::Zeroizing::new([b"Bearer ", token.expose()].concat());
            let mut value = HeaderValue::from_bytes(&value)
                .map_err(|_| "the token has characters that no header may have".to_owned())?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut resolver = Resolver { host: None };
        if let Some(name) = &kubeconfig.tls_server_name {
            // TLS asks for the URL's host and checks it. The resolver connects to the server's own
            // host, and the Host header names that.
            resolver.host = Some(kubeconfig.server.host.clone());
            headers.insert(
                HOST,
                HeaderValue::from_str(&kubeconfig.server.authority())
                    .map_err(|error| format!("server: {error}"))?,
            );
            url.set_host(Some(name))
                .map_err(|error| format!("tls-server-name: {error}"))?;
        }
        let client = Client::builder()
            .tls_backend_preconfigured(config::client(kubeconfig)?)
            .https_only(true)
            .http1_only()
            .redirect(redirect::Policy::none())
            .referer(false)
            .dns_resolver(Arc::new(resolver))
            .user_agent(super::USER_AGENT)
            .default_headers(headers)
            .connect_timeout(limits.connect)
            .timeout(limits.total)
            .pool_idle_timeout(Duration::from_secs(30))
            .no_proxy()
            .build()
            .map_err(|error| format!("no TLS client: {error}"))?;
        Ok(Self {
            client,
            url,
            limits,
        })
    }

    pub(super) async fn send(&self, request: &Request) -> Result<Response, Failure> {
        let local = |what: &str, error: &dyn std::fmt::Display| {
            Failure::Local(format!("{}: {error}", crate::text::printable(what)))
        };
        let url = format!(
            "{}{}",
            self.url.as_str().trim_end_matches('/'),
            request.path
        );
        let url = Url::parse(&url).map_err(|error| local(&request.path, &error))?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|error| local(request.method, &error))?;
        let mut outgoing = self
            .client
            .request(method, url)
            .header(ACCEPT, request.accept());
        if !request.body.is_empty() {
            outgoing = outgoing
                .header(CONTENT_TYPE, request.content_type())
                .body(request.body.clone());
        }
        let mut incoming = outgoing
            .send()
            .await
            .map_err(|error| classify::failure(&error))?;
        let status = incoming.status().as_u16();
        if incoming.status().is_redirection() {
            return Err(Failure::Redirect(status));
        }
        let retry_after = incoming
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(super::seconds);
        let mut body = Vec::new();
        while let Some(chunk) = incoming
            .chunk()
            .await
            .map_err(|error| classify::failure(&error))?
        {
            if body.len() + chunk.len() > self.limits.body {
                return Err(Failure::TooLarge(self.limits.body));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response {
            status,
            retry_after,
            body,
        })
    }
}

/// Resolves every name to the addresses of `host`, if that is given.
struct Resolver {
    host: Option<String>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = self
            .host
            .clone()
            .unwrap_or_else(|| name.as_str().to_owned());
        Box::pin(async move {
            // reqwest replaces port 0 with the URL's.
            let found = tokio::net::lookup_host((host.as_str(), 0))
                .await
                .map(Iterator::collect::<Vec<_>>);
            Ok(Box::new(
                found
                    .map_err(|error| Unresolved { host, error })?
                    .into_iter(),
            ) as Addrs)
        })
    }
}

/// An error of the resolver; `classify` finds it in the chain of reqwest's.
#[derive(Debug, thiserror::Error)]
#[error("{host}: {error}")]
struct Unresolved {
    host: String,
    error: std::io::Error,
}
