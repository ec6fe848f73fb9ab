//! Machines that reach the machine-config-server, and fail at its certificate or before (pure).

use super::advice::against_handshake;
use super::case::Case;
use super::finding::{Finding, sentence};
use super::moment::Moment;
use super::request_step::SERVER_LOG;
use super::request_words::NotAsked;
use super::rows::{row, when};

/// What a client has against the server's certificate, by the alert of TLS that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alert {
    Dates,
    Authority,
    /// It does not say.
    Any,
}

impl Alert {
    fn of(text: &str) -> Self {
        if text.contains("expired certificate") {
            Self::Dates
        } else if text.contains("authority") {
            Self::Authority
        } else {
            Self::Any
        }
    }
}

impl Case<'_> {
    /// A machine that rejects the server's certificate: most of Ignition's releases say no more than that,
    /// whether for its authority, its name or its dates by the machine's clock.
    pub(super) fn distrusts(&mut self, at: Moment, alert: &str, told: &NotAsked) -> Finding {
        let ago = self.ago(at);
        let NotAsked { begin, step } = told;
        let alert = alert.strip_prefix("remote error: tls: ").unwrap_or(alert);
        let text = format!("TLS: the client rejects the server's certificate ({alert})");
        self.see(SERVER_LOG, Some(at), text);
        if let Some(why) = self.expired_authority() {
            let finding = self.tell(row!(AuthorityExpired begin, step, ago, why));
            return self.about_authority(finding);
        }
        let alert = Alert::of(alert);
        let server = self.server();
        match self.trusts_server() {
            Some(false) => {
                let finding = self.tell(row!(UnknownAuthority begin, step, ago));
                return self.about_authority(finding);
            }
            Some(true) => {
                let dates = when(alert == Alert::Dates);
                return self.tell(row!(NameOrClock begin, step, ago, dates, server));
            }
            None => self.unseen(self.no_user_data()),
        }
        match alert {
            Alert::Dates => self.tell(row!(RejectsDates begin, step, ago, server)),
            Alert::Authority => self.tell(row!(RejectsAuthority begin, step, ago, server)),
            Alert::Any => self.tell(row!(RejectsCertificate begin, step, ago, server)),
        }
    }

    /// A handshake that ended before any certificate was judged.
    pub(super) fn breaks_tls(&mut self, at: Moment, error: &str, told: &NotAsked) -> Finding {
        let text = format!("TLS handshake error: {error}");
        self.see(SERVER_LOG, Some(at), text);
        let NotAsked { begin, step } = told;
        let (ago, says, help) = (self.ago(at), sentence(error), against_handshake(error));
        self.tell(row!(HandshakeFails begin, step, ago, says, help))
    }
}
