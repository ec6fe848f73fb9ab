//! Machines that reach the machine-config-server, and fail at its certificate or before (pure).

use super::advice::against_handshake;
use super::case::Case;
use super::cause::Cause;
use super::finding::{Finding, sentence};
use super::moment::Moment;
use super::request_step::SERVER_LOG;
use super::request_words::{NotAsked, OTHER_CA};

impl Case<'_> {
    /// A machine that rejects the server's certificate: most of Ignition's releases say no more than that,
    /// whether for its authority, its name or its dates by the machine's clock.
    pub(super) fn distrusts(
        &mut self,
        at: Moment,
        alert: &str,
        told: &NotAsked,
    ) -> (Finding, bool) {
        let when = self.ago(at);
        let alert = alert.strip_prefix("remote error: tls: ").unwrap_or(alert);
        let text = format!("TLS: the client rejects the server's certificate ({alert})");
        self.see(SERVER_LOG, Some(at), text);
        let because = |cause, why: &str| {
            told.because(cause, &format!(
                ": it reached the machine-config-server{when} and rejects its certificate: {why}."
            ))
        };
        if let Some(why) = self.expired_authority() {
            return (
                self.about_authority(because(Cause::AuthorityExpired, &why)),
                true,
            );
        }
        let is_expired = alert.contains("expired certificate");
        match self.trusts_server() {
            Some(false) => (
                self.about_authority(because(Cause::UnknownAuthority, OTHER_CA)),
                true,
            ),
            Some(true) => {
                self.unseen("which of the two: its console has Ignition's error, and its clock");
                let left = match is_expired {
                    true => "the certificate's dates",
                    false => "the name",
                };
                let finding = because(
                    Cause::NameOrClock,
                    &format!(
                        "its user data has the machine-config-server's CA, which leaves {left} or the machine's clock"
                    ),
                );
                (self.about_clock(finding), false)
            }
            None => {
                self.unseen(self.no_user_data());
                let is_authority = alert.contains("authority");
                let mut finding = because(
                    Cause::RejectsCertificate,
                    match (is_expired, is_authority) {
                        (true, _) => "its dates by the machine's clock",
                        (false, true) => "its authority",
                        (false, false) => {
                            "its authority, its name, or its dates by the machine's clock"
                        }
                    },
                );
                if !is_expired {
                    finding = finding.next(format!(
                        "Compare the CA in its user data with the server's: `openssl s_client -showcerts -connect {}:22623`",
                        self.server()
                    ));
                }
                if !is_authority {
                    finding = self.about_clock(finding);
                }
                (finding, false)
            }
        }
    }

    fn about_clock(&self, finding: Finding) -> Finding {
        finding
            .next("Compare the machine's clock with the real time, in its firmware or its hypervisor")
            .next(format!("Compare the name in its user data's URL with {}, and with the certificate's subject alternative names: newer releases of Ignition accept no other name", self.server()))
    }

    /// A handshake that ended before any certificate was judged.
    pub(super) fn breaks_tls(&mut self, at: Moment, error: &str, told: &NotAsked) -> Finding {
        let text = format!("TLS handshake error: {error}");
        self.see(SERVER_LOG, Some(at), text);
        told.because(
            Cause::HandshakeFails,
            &format!(
                ": it reached the machine-config-server{}, and the TLS handshake failed: {}",
                self.ago(at),
                sentence(error)
            ),
        )
        .says(error)
        .next(against_handshake(error))
        .next("Look at its console: Ignition says there what it asks for, and the error")
    }
}
