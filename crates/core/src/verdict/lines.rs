//! A headline, and below it lines of a name and a value (pure).

/// Text for a person at a terminal.
pub struct Lines {
    /// Text so far; every line ends.
    pub text: String,
}

impl Lines {
    pub fn new(headline: &str) -> Self {
        Self {
            text: format!("{headline}\n"),
        }
    }

    /// Adds a line; without a name it goes on with the value above.
    pub fn add(&mut self, name: &str, value: &str) {
        let line = format!("  {name:<12}{value}");
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn values_stand_below_each_other_and_lines_end_where_their_text_does() {
        let mut lines = Lines::new("Refused");
        lines.add("boot image", "9.6");
        lines.add("", "RHEL 9.6");
        lines.add("target", "");
        assert_eq!(
            lines.text,
            "Refused\n  boot image  9.6\n              RHEL 9.6\n  target\n"
        );
    }
}
