//! Lines of a log, with a bound on each (pure but for the log that it is given).

use std::io::{BufRead, Read};

/// The longest line that is read; bootstrap servers of 4.14 to 4.20 print whole configs.
const MAX_LINE: u64 = 16 << 10;

/// Gives each line to `take`, and no more of it than [`MAX_LINE`].
pub fn lines(log: &mut dyn Read, take: &mut dyn FnMut(&[u8])) -> std::io::Result<()> {
    let mut reader = std::io::BufReader::with_capacity(64 << 10, log);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        take(&line);
        if line.last() != Some(&b'\n') {
            skip_line(&mut reader)?;
        }
    }
}

fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}
