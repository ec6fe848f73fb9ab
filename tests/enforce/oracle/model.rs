//! What must become of a node, as the rules say it and apart from the code.
//!
//! 1. One record in /etc; empty, torn or of another image it is none. A whole one is only ever
//!    replaced by a synced one.
//! 2. /var decides nothing but the certificate and our own label.
//! 3. Joined: the daemon's renamed annotations, a Node labelled in this installation, a certificate
//!    that is not among those that the first run saw on this file system. May have joined: a
//!    certificate that cannot be read; one that nobody looked at, unless it is a day older than the
//!    first run (without a record: the config) by a credible clock; the config is gone without a
//!    record.
//! 4. `ignition.firstboot` begins anew, unless the record is of this boot.
//! 5. /boot: the larger of the recorded figure and now; without a figure only what one entry and one
//!    folder leave. What is unknown never holds.
//! 6. A refusal whose hold stood stays where the inputs cannot be read, last in order.
//! 7. If /etc takes no record, a later boot decides anew.

/// What the node is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Image {
    Refused,
    Allowed,
    /// Only the space in /boot may refuse it.
    Space,
}

/// The last letters of a boot: held, goes on, goes on because it may have joined, goes on because
/// what it is decided by cannot be read.
pub(super) const HELD: char = 'H';
pub(super) const ON: char = 'G';
pub(super) const MAYBE: char = 'W';
pub(super) const UNREADABLE: char = 'U';

/// Hours from now, by the node's clock.
pub(super) type Hours = i64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    Whole,
    Damaged,
    Gone,
}

/// A certificate of the kubelet's; without a number it cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Certificate {
    pub(super) number: Option<usize>,
    pub(super) signed: Hours,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    image: Image,
    boot: u32,
    /// The time of the first run; none in a record that was made later.
    time: Option<Hours>,
    /// Certificates of the first run, and the file system they were on.
    looked: Option<(Option<usize>, u8)>,
    room: Option<bool>,
    /// A refusal, and whether its hold stood.
    refused: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) image: Image,
    pub(super) boot: u32,
    pub(super) clock: Hours,
    // /etc
    pub(super) record: Option<Record>,
    pub(super) takes_files: bool,
    pub(super) config: Text,
    pub(super) written: Hours,
    pub(super) served: Text,
    pub(super) is_annotated: bool,
    // /var
    pub(super) certificate: Option<Certificate>,
    pub(super) file_system: u8,
    /// The boot whose installation labelled a Node.
    pub(super) label: Option<u32>,
    // the deployment and /boot
    pub(super) is_rebased: bool,
    pub(super) has_room: bool,
    pub(super) is_alone: bool,
}

impl Model {
    pub(super) fn new(image: Image) -> Self {
        Self {
            image,
            boot: 0,
            clock: 0,
            record: None,
            takes_files: true,
            config: Text::Whole,
            written: 0,
            served: Text::Whole,
            is_annotated: false,
            certificate: None,
            file_system: 0,
            label: None,
            is_rebased: false,
            has_room: true,
            is_alone: true,
        }
    }

    /// The record, where it counts.
    fn found(&self, is_first: bool) -> Option<Record> {
        let record = self.record.clone();
        record.filter(|it| it.image == self.image && (!is_first || it.boot == self.boot))
    }

    /// `Some(true)`: joined, `None`: it may have.
    fn joined(&self, record: Option<&Record>, is_new: bool) -> Option<bool> {
        if self.is_annotated || record.is_some_and(|it| self.label == Some(it.boot)) {
            return Some(true);
        }
        let Some(certificate) = self.certificate.filter(|_| !is_new) else {
            return Some(false);
        };
        let number = certificate.number?;
        let looked = record.and_then(|it| it.looked);
        if let Some((seen, file_system)) = looked
            && file_system == self.file_system
        {
            return Some(seen != Some(number));
        }
        let begun = record.and_then(|it| it.time).unwrap_or(self.written);
        let is_credible = (-24 * 6..24 * 365 * 9).contains(&begun);
        (is_credible && certificate.signed < begun - 24).then_some(false)
    }

    fn decide(&self, record: Option<&Record>, is_new: bool) -> char {
        let joined = self.joined(record, is_new);
        let is_gone = self.config == Text::Gone;
        if joined == Some(true) || (self.is_rebased || is_gone) && record.is_some() {
            return ON;
        }
        if joined.is_none() || is_gone {
            return MAYBE;
        }
        if self.config == Text::Damaged || self.served == Text::Damaged {
            let stands = record.is_some_and(|it| it.refused == Some(true));
            return if stands { HELD } else { UNREADABLE };
        }
        let then = record.and_then(|it| it.room);
        let now = (self.is_alone || then.is_some()).then_some(self.has_room);
        match self.image {
            // Another release is judged then.
            _ if self.is_rebased => ON,
            Image::Refused => HELD,
            Image::Space if then.max(now) == Some(false) => HELD,
            Image::Space | Image::Allowed => ON,
        }
    }

    fn fresh(&self, is_first: bool) -> Record {
        let is_readable = self.certificate.is_none_or(|it| it.number.is_some());
        let seen = self.certificate.and_then(|it| it.number);
        Record {
            image: self.image,
            boot: self.boot,
            time: is_first.then_some(self.clock),
            looked: (is_first && is_readable).then_some((seen, self.file_system)),
            room: is_first.then_some(self.has_room).filter(|_| self.is_alone),
            refused: None,
        }
    }

    /// A boot's decision to its end.
    pub(super) fn enforce(&mut self, is_first: bool, is_off: bool) -> char {
        let record = self.found(is_first);
        let is_new = is_first && record.is_none();
        let fate = match is_off {
            true => ON,
            false => self.decide(record.as_ref(), is_new),
        };
        if self.config == Text::Gone {
            return fate;
        }
        let mut record = record.unwrap_or_else(|| self.fresh(is_first));
        if fate == HELD {
            record.refused = Some(true);
        }
        if self.takes_files {
            self.record = Some(record);
        }
        fate
    }

    /// What the same may leave where it is killed and the power fails.
    pub(super) fn cut(&self, is_first: bool) -> Vec<Self> {
        let mut whole = self.clone();
        let fate = whole.enforce(is_first, false);
        let with = |record| Self {
            record,
            ..self.clone()
        };
        let mut left = vec![self.clone(), whole];
        if self.found(is_first).is_none() && self.takes_files {
            let early = [None, Some(false), Some(true)];
            let early = early.map(|refused| Record {
                looked: None,
                refused: refused.filter(|_| fate == HELD),
                ..self.fresh(is_first)
            });
            left.extend(early.map(|record| with(Some(record))));
        }
        left
    }

    /// What the report may have made of it.
    pub(super) fn reported(&self, is_first: bool) -> Vec<Self> {
        let mut left = self.cut(is_first);
        let mut later = self.clone();
        if self.found(is_first).is_none() && self.config != Text::Gone {
            later.record = Some(later.fresh(false));
        }
        let record = later.record.as_ref();
        if later.is_rebased || later.joined(record, false) == Some(true) {
            let without = later.record.take().map(|it| Record {
                refused: None,
                ..it
            });
            later.record = without;
        }
        left.push(later);
        left
    }
}
