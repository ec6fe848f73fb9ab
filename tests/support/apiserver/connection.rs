//! One connection: TLS, HTTP, and the faults that break them.

use super::fault::Fault;
use super::identity;
use super::route::{self, Asked};
use super::server::{Logged, Shared};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use nix::sys::socket::{setsockopt, sockopt};
use std::convert::Infallible;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

type Body = BoxBody<Bytes, Infallible>;

/// The connection is to be cut without an answer.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cut")
    }
}

impl std::error::Error for Cut {}

/// Serves one connection to its end.
pub async fn serve(mut tcp: TcpStream, tls: TlsAcceptor, shared: Arc<Shared>) {
    let fault = shared.next_fault(Fault::is_of_connection);
    match fault {
        Some(Fault::ResetConnection) => {
            // Not before the client has seen the connection: that would be a refusal.
            let _ = tcp.read(&mut [0; 1]).await;
            return reset_on_close(tcp.as_fd());
        }
        Some(Fault::SilentConnection) => return std::future::pending().await,
        Some(Fault::PlainHttp) => {
            let _ = tcp.read(&mut [0; 1024]).await;
            let _ = tcp.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n").await;
            return;
        }
        _ => {}
    }
    // A second handle on the socket, to reset it from within a request; it is gone before the
    // connection is.
    let Ok(handle) = tcp.as_fd().try_clone_to_owned() else {
        return;
    };
    let mut stream = match tls.accept(tcp).await {
        Ok(stream) => stream,
        Err(error) => return shared.log_tls_failure(&error.to_string()),
    };
    if fault == Some(Fault::Garbage) {
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(b"220 mail.example.com ESMTP\r\n").await;
        return;
    }
    let certificate = stream
        .get_ref()
        .1
        .peer_certificates()
        .and_then(|chain| chain.first())
        .map(|der| der.to_vec());
    let handle = Arc::new(handle);
    let service = hyper::service::service_fn(move |request| {
        let (shared, certificate, handle) = (
            Arc::clone(&shared),
            certificate.clone(),
            Arc::clone(&handle),
        );
        async move { respond(request, certificate, &shared, &handle).await }
    });
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(
    request: Request<Incoming>,
    certificate: Option<Vec<u8>>,
    shared: &Shared,
    handle: &OwnedFd,
) -> Result<Response<Body>, Cut> {
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let mut asked = Asked {
        method: request.method().to_string(),
        uri: request.uri().to_string(),
        content_type: header("content-type").unwrap_or_default(),
        accept: header("accept").unwrap_or_default(),
        authorization: header("authorization"),
        certificate,
        body: Vec::new(),
    };
    let mut log = Logged {
        method: asked.method.clone(),
        path: asked.uri.clone(),
        content_type: asked.content_type.clone(),
        ..Logged::default()
    };
    log.host = header("host").unwrap_or_default();
    asked.body = request
        .into_body()
        .collect()
        .await
        .map_err(|_| Cut)?
        .to_bytes()
        .to_vec();
    log.body = serde_json::from_slice(&asked.body)
        .unwrap_or_else(|_| String::from_utf8_lossy(&asked.body).into());
    let beyond = shared.is_beyond_rate().then_some(Fault::Status {
        code: 429,
        retry_after: Some(1),
    });
    tokio::time::sleep(shared.delay).await;
    let fault = beyond
        .or_else(|| shared.next_fault(|fault| !fault.is_of_connection()))
        .or_else(|| shared.fault_of(&asked.uri))
        .or_else(|| shared.turns_bad());
    let Some(fault) = fault else {
        let answer = shared.answer(&asked);
        (log.user, log.status, log.remarks) = (answer.user, answer.status, answer.remarks);
        if answer.status >= 400 {
            log.remarks.push(
                answer.body["message"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
        shared.log(log);
        return Ok(json(answer.status, &answer.body));
    };
    log.user = identity::user(asked.authorization.as_deref(), asked.certificate.as_deref())
        .unwrap_or_default();
    log.remarks.push(format!("fault {fault:?}"));
    if let Fault::Status { code, .. } = fault {
        log.status = code;
    }
    shared.log(log);
    break_answer(fault, handle).await
}

async fn break_answer(fault: Fault, handle: &OwnedFd) -> Result<Response<Body>, Cut> {
    let first = Bytes::from_static(b"{\"kind\":\"BootImageReport\",\"padding\":\"");
    match fault {
        Fault::Close => Err(Cut),
        Fault::Reset => {
            reset_on_close(handle.as_fd());
            Err(Cut)
        }
        Fault::Hang => std::future::pending().await,
        Fault::Drip => Ok(endless(
            first,
            Bytes::from_static(b"x"),
            Some(Duration::from_secs(1)),
            None,
        )),
        Fault::Huge => Ok(endless(
            first,
            Bytes::from(vec![b'x'; 64 * 1024]),
            None,
            None,
        )),
        Fault::HugeWithLength => Ok(endless(
            first,
            Bytes::from(vec![b'x'; 64 * 1024]),
            None,
            Some(1 << 30),
        )),
        Fault::Page(code) => {
            let mut response = json(code, &"<!DOCTYPE html>\n<title>Welcome</title>\n".into());
            response.headers_mut().insert(
                "content-type",
                hyper::header::HeaderValue::from_static("text/html"),
            );
            Ok(response)
        }
        Fault::Redirect(to) => {
            let mut response = json(302, &serde_json::json!({}));
            response
                .headers_mut()
                .insert("location", to.parse().map_err(|_| Cut)?);
            Ok(response)
        }
        Fault::Status { code, retry_after } => {
            let mut response = json(
                code,
                &route::status_object(code, "Scripted", &format!("scripted {code}")),
            );
            if let Some(seconds) = retry_after {
                response.headers_mut().insert("retry-after", seconds.into());
            }
            Ok(response)
        }
        Fault::ResetConnection | Fault::SilentConnection | Fault::PlainHttp | Fault::Garbage => {
            Err(Cut)
        }
    }
}

fn json(status: u16, body: &serde_json::Value) -> Response<Body> {
    let (kind, text) = match body {
        serde_json::Value::String(text) => ("text/plain; charset=utf-8", text.clone()),
        object => ("application/json", object.to_string()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed());
    *response.status_mut() = status.try_into().unwrap_or_default();
    response.headers_mut().insert(
        "content-type",
        hyper::header::HeaderValue::from_static(kind),
    );
    response
}

/// A body of 1 GiB that starts with `first` and goes on with `chunk`, one each `pause`.
fn endless(
    first: Bytes,
    chunk: Bytes,
    pause: Option<Duration>,
    length: Option<u64>,
) -> Response<Body> {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let mut left = 1_u64 << 30;
        let mut next = first;
        while left > 0 {
            next.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= next.len() as u64;
            if sender.send(Ok(Frame::data(next))).await.is_err() {
                return;
            }
            next = chunk.clone();
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        }
    });
    let mut response = Response::new(
        StreamBody::new(tokio_stream::wrappers::ReceiverStream::new(receiver)).boxed(),
    );
    *response.status_mut() = hyper::StatusCode::CREATED;
    if let Some(length) = length {
        response
            .headers_mut()
            .insert("content-length", length.into());
    }
    response
}

/// Makes the close of this socket a reset (socket(7), SO_LINGER with zero time).
fn reset_on_close(socket: std::os::fd::BorrowedFd<'_>) {
    let _ = setsockopt(
        &socket,
        sockopt::Linger,
        &nix::libc::linger {
            l_onoff: 1,
            l_linger: 0,
        },
    );
}
