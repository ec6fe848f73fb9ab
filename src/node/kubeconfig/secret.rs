//! Tokens and keys, held so that they cannot be printed.

use std::fmt;
use zeroize::Zeroizing;

/// A bearer token or a private key. `Debug` and `Display` show a placeholder, and the memory is wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the bytes over.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes themselves, for the one place that puts them on the wire. Never for a message.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_shows_its_content() {
        let secret = Secret::new(b"eyJhbGciOi".to_vec());
        assert_eq!(
            format!("{secret} {secret:?} {:?} {:#?}", Some(&secret), (&secret,)),
            "[secret] [secret] Some([secret]) (\n    [secret],\n)"
        );
        assert_eq!(secret.expose(), b"eyJhbGciOi");
    }
}
