//! Machines that reach the machine-config-server, and fail at its certificate or before (pure).

use super::advice::against_handshake;
use super::case::Case;
use super::finding::{Finding, sentence};
use super::moment::Moment;
use super::request_step::SERVER_LOG;
use super::rows::row;

impl Case<'_> {
    /// A machine that rejects the server's certificate: most of Ignition's releases say no more than that,
    /// whether for its authority, its name or its dates by the machine's clock.
    pub(super) fn distrusts(&mut self, at: Moment, alert: &str) -> Finding {
        let ago = self.ago(at);
        let alert = alert.strip_prefix("remote error: tls: ").unwrap_or(alert);
        let text = format!("TLS: the client rejects the server's certificate ({alert})");
        self.see(SERVER_LOG, Some(at), text);
        if let Some(why) = self.expired_authority() {
            let finding = self.tell(row!(AuthorityExpired ago, why));
            return self.about_authority(finding);
        }
        // By the alert of TLS that it sends.
        let dates = alert.contains("expired certificate");
        let server = self.server();
        match self.trusts_server() {
            Some(false) => {
                let finding = self.tell(row!(UnknownAuthority ago));
                return self.about_authority(finding);
            }
            Some(true) => return self.tell(row!(NameOrClock ago, dates, server)),
            None => self.unseen(self.no_user_data()),
        }
        self.tell(if dates {
            row!(RejectsDates ago, server)
        } else if alert.contains("authority") {
            row!(RejectsAuthority ago, server)
        } else {
            row!(RejectsCertificate ago, server)
        })
    }

    /// A handshake that ended before any certificate was judged.
    pub(super) fn breaks_tls(&mut self, at: Moment, error: &str) -> Finding {
        let text = format!("TLS handshake error: {error}");
        self.see(SERVER_LOG, Some(at), text);
        let (ago, says, help) = (self.ago(at), sentence(error), against_handshake(error));
        self.tell(row!(HandshakeFails ago, says, help))
    }
}
