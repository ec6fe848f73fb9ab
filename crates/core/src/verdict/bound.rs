//! Bounds for a verdict that somebody else may have written.

use super::{BootImageStatus, Verdict};
use crate::text::bounded;

impl BootImageStatus {
    fn texts(&mut self) -> [Option<&mut String>; 5] {
        [
            Some(&mut self.version),
            self.rhel_version.as_mut(),
            self.ocp_version.as_mut(),
            self.build_date.as_mut(),
            self.path.as_mut(),
        ]
    }
}

impl Verdict {
    /// Makes every text printable, and at most so many bytes long: a word, such as a version, a
    /// name or an image reference, or a sentence.
    pub fn bound(&mut self, word: usize, sentence: usize) {
        let mut words = vec![
            Some(&mut self.api_version),
            Some(&mut self.kind),
            self.target.release.as_mut(),
            self.target.pool.as_mut(),
            self.target.machine_config.as_mut(),
            self.target.os_image_url.as_mut(),
            self.deployment.ostree.as_mut(),
            self.deployment.container_image_reference.as_mut(),
            self.platform.as_mut(),
            self.machine.architecture.as_mut(),
            self.machine.cpu.as_mut(),
            self.machine.shim.as_mut(),
        ];
        let mut sentences = vec![Some(&mut self.message)];
        sentences.extend(self.warnings.iter_mut().map(Some));
        for image in [&mut self.boot_image, &mut self.deployment.image] {
            words.extend(image.iter_mut().flat_map(BootImageStatus::texts));
        }
        for finding in &mut self.findings {
            words.push(Some(&mut finding.want));
            words.extend(
                [
                    &mut finding.have,
                    &mut finding.entry,
                    &mut finding.issue,
                    &mut finding.url,
                ]
                .map(Option::as_mut),
            );
            sentences.extend([Some(&mut finding.message), finding.why.as_mut()]);
        }
        if let Some(policy) = &mut self.policy {
            words.push(Some(&mut policy.path));
            words.extend(
                [
                    &mut policy.digest,
                    &mut policy.mode,
                    &mut policy.limit_release,
                    &mut policy.help_text,
                    &mut policy.help_url,
                ]
                .map(Option::as_mut),
            );
        }
        if let Some(gate) = &mut self.gate {
            words.extend(gate.units.iter_mut().map(Some));
            sentences.push(gate.error.as_mut());
        }
        for (texts, max) in [(words, word), (sentences, sentence)] {
            for text in texts.into_iter().flatten() {
                *text = bounded(text, max);
            }
        }
    }
}
