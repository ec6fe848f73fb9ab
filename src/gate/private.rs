//! PID 1's own socket, `/run/systemd/private`, on which root needs no bus.
//!
//! There is no bus on it, so nobody says `Hello`, and systemd gives its well-known name as the
//! sender of every message (`sd_bus_set_sender` in systemd's src/core/dbus.c, 239 to 257). The
//! D-Bus specification has unique names there, which begin with a colon, and zbus breaks the
//! connection at any other. So the first letter of that name becomes a colon while it is read;
//! nothing of ours reads the sender.

use crate::text;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{BorrowedFd, OwnedFd};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use zbus::connection::Builder;
use zbus::connection::socket::{ReadHalf, Socket, Split, WriteHalf};
use zbus::export::async_trait::async_trait;

/// The longest answer to `AUTH`, in bytes: `OK`, and a GUID of 32 digits.
const ANSWER_MAX: usize = 256;

/// Length of the fixed part of a message, in bytes (D-Bus specification, "Message Format").
const FIXED: usize = 16;

/// The beginning of a field that is a sender: its code 7, and the type `s` of its value.
const SENDER: u64 = 0x0701_7300;

/// Connects to the socket at `path`, as the user that this process runs as.
pub(super) async fn connect(path: &str) -> zbus::Result<zbus::Connection> {
    let stream = UnixStream::connect(path).await?;
    let guid = authenticate(&stream).await?;
    Builder::authenticated_socket(Private(stream), guid)
        .build()
        .await
}

/// Says who we are, and returns the server's GUID (D-Bus specification, "Authentication
/// Protocol").
async fn authenticate(stream: &UnixStream) -> Result<String> {
    let user = nix::unistd::geteuid().to_string();
    let digits = text::hex(user.as_bytes());
    let words = format!("\0AUTH EXTERNAL {digits}\r\nBEGIN\r\n");
    let mut left = words.as_bytes();
    while !left.is_empty() {
        let sent = send(stream, left).await?;
        left = left.get(sent..).unwrap_or_default();
    }
    // One byte at a time: the first message may follow at once.
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while answer.len() < ANSWER_MAX && receive(stream, &mut byte).await? == 1 {
        if byte == [b'\n'] {
            break;
        }
        answer.extend(byte);
    }
    let answer = String::from_utf8_lossy(&answer);
    match answer.trim_end().strip_prefix("OK ") {
        Some(guid) => Ok(guid.to_owned()),
        None => Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("not let in: {answer:?}"),
        )),
    }
}

async fn receive(stream: &UnixStream, buffer: &mut [u8]) -> Result<usize> {
    loop {
        stream.readable().await?;
        match stream.try_read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            done => return done,
        }
    }
}

async fn send(stream: &UnixStream, bytes: &[u8]) -> Result<usize> {
    loop {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            done => return done,
        }
    }
}

struct Private(UnixStream);

impl Socket for Private {
    type ReadHalf = Reader;
    type WriteHalf = Writer;

    fn split(self) -> Split<Reader, Writer> {
        let (read, write) = self.0.into_split();
        Split::new(Reader(read, Messages::default()), Writer(write))
    }
}

#[derive(Debug)]
struct Reader(OwnedReadHalf, Messages);

#[async_trait]
impl ReadHalf for Reader {
    async fn recvmsg(&mut self, buffer: &mut [u8]) -> Result<(usize, Vec<OwnedFd>)> {
        let read = receive(self.0.as_ref(), buffer).await?;
        let read_bytes = buffer.get_mut(..read).unwrap_or_default();
        self.1.name_the_sender(read_bytes);
        Ok((read, Vec::new()))
    }
}

#[derive(Debug)]
struct Writer(OwnedWriteHalf);

#[async_trait]
impl WriteHalf for Writer {
    async fn sendmsg(&mut self, bytes: &[u8], _fds: &[BorrowedFd<'_>]) -> Result<usize> {
        send(self.0.as_ref(), bytes).await
    }

    async fn close(&mut self) -> Result<()> {
        // The halves are closed when they are dropped.
        Ok(())
    }
}

/// A stream of messages, as far as it has been read.
#[derive(Debug, Default)]
struct Messages {
    /// The bytes of the message that have been read.
    at: usize,
    /// Its fixed part.
    fixed: [u8; FIXED],
    /// The last eight bytes.
    last: u64,
}

impl Messages {
    /// Gives the sender of each message, in these bytes that follow the earlier ones, the first
    /// letter of a unique name.
    fn name_the_sender(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if let Some(fixed) = self.fixed.get_mut(self.at) {
                *fixed = *byte;
            } else if self.at < FIXED + self.fields() && self.last >> 32 == SENDER {
                // The code and type, and then four bytes with the length, are just read.
                *byte = b':';
            }
            self.last = self.last << 8 | u64::from(*byte);
            self.at += 1;
            if self.at >= FIXED && self.at >= self.length() {
                self.at = 0;
            }
        }
    }

    /// Length of the message's header fields, in bytes.
    fn fields(&self) -> usize {
        self.number(12)
    }

    /// Length of the message, in bytes: the header is padded to a multiple of eight.
    fn length(&self) -> usize {
        (FIXED + self.fields()).next_multiple_of(8) + self.number(4)
    }

    /// The number at this place of the fixed part, in the message's own byte order.
    fn number(&self, at: usize) -> usize {
        let bytes = self.fixed.get(at..at + 4).unwrap_or_default();
        let Ok(bytes) = <[u8; 4]>::try_from(bytes) else {
            return 0;
        };
        let number = if self.fixed.first() == Some(&b'B') {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        };
        number as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    const SYSTEMD: &[u8] = b"org.freedesktop.systemd1\0";

    /// An answer as PID 1 gives it: reply serial, signature, sender, and a string as its body.
    fn answer(serial: u32, body: &[u8]) -> Vec<u8> {
        let mut fields = vec![5, 1, b'u', 0];
        fields.extend(serial.to_le_bytes());
        fields.extend([8, 1, b'g', 0, 1, b's', 0, 0]);
        fields.extend([7, 1, b's', 0, 24, 0, 0, 0]);
        fields.extend(SYSTEMD);
        let mut message = vec![b'l', 2, 1, 1];
        let length = u32::try_from(body.len() + 5).expect("short");
        message.extend(length.to_le_bytes());
        message.extend(77_u32.to_le_bytes());
        message.extend(u32::try_from(fields.len()).expect("short").to_le_bytes());
        message.extend(fields);
        message.resize(message.len().next_multiple_of(8), 0);
        message.extend((length - 5).to_le_bytes());
        message.extend(body);
        message.push(0);
        message
    }

    #[test]
    fn only_the_sender_is_changed_however_the_bytes_come() {
        // The body looks like a sender.
        let body = [&[7, 1, b's', 0, 24, 0, 0, 0], SYSTEMD].concat();
        let (first, second) = (answer(1, &body), answer(2, b"x"));
        let stream = [first, second].concat();
        let place = stream
            .windows(SYSTEMD.len())
            .position(|window| window == SYSTEMD)
            .expect("a sender");
        let later = stream
            .windows(SYSTEMD.len())
            .rposition(|window| window == SYSTEMD)
            .expect("a sender");
        let mut expected = stream.clone();
        (expected[place], expected[later]) = (b':', b':');
        for size in [1, 2, 3, 7, 16, 40, stream.len()] {
            let (mut messages, mut read) = (Messages::default(), stream.clone());
            for chunk in read.chunks_mut(size) {
                messages.name_the_sender(chunk);
            }
            assert_eq!(read, expected, "{size} bytes at a time");
        }
    }

    #[test]
    fn speaks_with_what_pid_1_says() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("private");
        let listener = UnixListener::bind(&path).expect("bound");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            let mut words = [0; 512];
            let count = stream.read(&mut words).expect("read");
            let user = nix::unistd::geteuid().to_string();
            let digits: String = user.bytes().map(|byte| format!("{byte:02x}")).collect();
            let expected = format!("\0AUTH EXTERNAL {digits}\r\nBEGIN\r\n");
            assert_eq!(words[..count], *expected.as_bytes());
            let ok = b"OK 0123456789abcdef0123456789abcdef\r\n";
            stream.write_all(ok).expect("written");
            for text in ["one", "two"] {
                let count = stream.read(&mut words).expect("read");
                assert!(count > FIXED, "a call");
                let serial = u32::from_le_bytes([words[8], words[9], words[10], words[11]]);
                let reply = answer(serial, text.as_bytes());
                stream.write_all(&reply).expect("written");
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let path = path.to_str().expect("text");
            let connection = connect(path).await.expect("connected");
            for expected in ["one", "two"] {
                let answer = connection
                    .call_method(None::<&str>, "/x", None::<&str>, "X", &())
                    .await
                    .expect("answered");
                let text: String = answer.body().deserialize().expect("a string");
                assert_eq!(text, expected);
            }
        });
        server.join().expect("the server ends well");
    }

    #[test]
    fn a_socket_that_does_not_let_us_in() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("private");
        let listener = UnixListener::bind(&path).expect("bound");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            // A server that closed the socket earlier would break the pipe under the client.
            let mut asked = Vec::new();
            while !asked.ends_with(b"BEGIN\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("read");
                asked.extend(byte);
            }
            stream.write_all(b"REJECTED EXTERNAL\r\n").expect("written");
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let path = path.to_str().expect("text");
        let error = runtime.block_on(connect(path)).expect_err("rejected");
        assert!(error.to_string().contains("not let in"), "{error}");
        server.join().expect("the server ends well");
    }
}
