//! Machines that reach the machine-config-server, and fail at its certificate or before (pure).

use super::case::Case;
use super::finding::Finding;
use super::moment::Moment;

impl Case<'_> {
    /// A machine that rejects the server's certificate: most of Ignition's releases say no more than that,
    /// whether for its authority, its name or its dates by the machine's clock.
    pub(super) fn distrusts(
        &mut self,
        at: Moment,
        alert: &str,
        made: &dyn Fn(String) -> Finding,
    ) -> (Finding, bool) {
        let when = self.ago(at);
        let alert = alert.strip_prefix("remote error: tls: ").unwrap_or(alert);
        self.see(
            "log of the machine-config-server",
            Some(at),
            format!("TLS: the client rejects the server's certificate ({alert})"),
        );
        let begin =
            format!(": it reached the machine-config-server {when} and rejects its certificate");
        if let Some(why) = self.expired_authority() {
            return (self.about_authority(made(format!("{begin}: {why}."))), true);
        }
        let is_expired = alert.contains("expired certificate");
        match self.trusts_server() {
            Some(false) => {
                let why = "its user data trusts another CA than the machine-config-server's";
                (self.about_authority(made(format!("{begin}: {why}."))), true)
            }
            Some(true) => {
                self.unseen("which of the two: its console has Ignition's error, and its clock");
                let left = if is_expired {
                    "the certificate's dates"
                } else {
                    "the name"
                };
                let why = "its user data has the machine-config-server's CA, which leaves";
                let finding = made(format!("{begin}: {why} {left} or the machine's clock."));
                (self.about_clock(finding), false)
            }
            None => {
                self.unseen(self.no_user_data());
                let is_authority = alert.contains("authority");
                let why = if is_expired {
                    "its dates by the machine's clock"
                } else if is_authority {
                    "its authority"
                } else {
                    "its authority, its name, or its dates by the machine's clock"
                };
                let mut finding = made(format!("{begin}: {why}."));
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
    pub(super) fn breaks_tls(
        &mut self,
        at: Moment,
        error: &str,
        made: &dyn Fn(String) -> Finding,
    ) -> Finding {
        self.see(
            "log of the machine-config-server",
            Some(at),
            format!("TLS handshake error: {error}"),
        );
        let help = if error.contains("HTTP request") || error.contains("first record") {
            "Let the URL in its user data begin with https://"
        } else if error.contains("unsupported versions") || error.contains("cipher suite") {
            "Compare the TLS profile (oc get apiserver cluster -o yaml, spec.tlsSecurityProfile) with what its boot image can: an older one lacks newer versions and ciphers"
        } else {
            "Look at the network and the load balancer of port 22623 between the machine and the control plane (MTU, firewall)"
        };
        made(format!(
            ": it reached the machine-config-server {}, and the TLS handshake failed: {}",
            self.ago(at),
            super::finding::sentence(error)
        ))
        .next(help)
        .next("Look at its console: Ignition says there what it asks for, and the error")
    }

    /// The name by which machines reach the machine-config-servers.
    fn server(&self) -> &str {
        self.facts.server_host.as_deref().unwrap_or("API-INT")
    }
}
