//! Units that could not be held, or not be made sure of, beside those that are always held (pure).

/// Limit of the names and sentences of one kind; the rest is counted. The console has room
/// for a few lines.
const SAID_MAX: usize = 8;

/// Unverified about units, in words.
#[derive(Debug, Default)]
pub(super) struct Unverified {
    /// Sentences about one unit each.
    one: Vec<String>,
    /// Units without an answer of systemd.
    silent: Vec<String>,
    /// The reason, for the first of them.
    why: String,
    /// Units beyond those that are held.
    left_out: Vec<String>,
}

impl Unverified {
    /// Something is wrong with one unit.
    pub(super) fn about(&mut self, what: impl ToString) {
        self.one.push(what.to_string());
    }

    /// systemd does not say anything about this unit.
    pub(super) fn silent_about(&mut self, unit: String, why: impl ToString) {
        if self.silent.is_empty() {
            self.why = why.to_string();
        }
        self.silent.push(unit);
    }

    /// Too many units wait for the OS update.
    pub(super) fn leave_out(&mut self, units: impl IntoIterator<Item = String>) {
        self.left_out.extend(units);
    }

    /// All of them in one line; `None` if there are none.
    pub(super) fn text(self) -> Option<String> {
        let silent = listed(&self.silent, " ").map(|names| {
            let why = &self.why;
            format!("systemd does not say whether these are held: {names} ({why})")
        });
        let left_out = listed(&self.left_out, " ").map(|names| {
            format!("too many units wait for the OS update, these are not held: {names}")
        });
        let all = [listed(&self.one, "; "), silent, left_out];
        let all: Vec<String> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// The first few, and how many more there are.
fn listed(items: &[String], between: &str) -> Option<String> {
    let said: Vec<&str> = items.iter().take(SAID_MAX).map(String::as_str).collect();
    let more = match items.len() - said.len() {
        0 => String::new(),
        count => format!("{between}and {count} more"),
    };
    (!said.is_empty()).then(|| said.join(between) + &more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_stays_short() {
        assert_eq!(Unverified::default().text(), None);
        let mut unverified = Unverified::default();
        for n in 0..10 {
            unverified.silent_about(format!("u{n}.service"), format!("no answer of u{n}"));
        }
        unverified.leave_out((0..9).map(|n| format!("v{n}.service")));
        unverified.about("x.service is not held");
        let text = "x.service is not held; systemd does not say whether these are held: u0.service u1.service u2.service u3.service u4.service \
                    u5.service u6.service u7.service and 2 more (no answer of u0); too many units wait for the OS update, these are not held: \
                    v0.service v1.service v2.service v3.service v4.service v5.service v6.service v7.service and 1 more";
        assert_eq!(unverified.text().as_deref(), Some(text));
    }
}
