//! The work of viewing Services from all nodes, which is a product of both: it has an end.

use crate::model::{ObjectKey, Service};

/// The most endpoints that are looked at, each once for every port and every node that sees others than most nodes do. A
/// hundred Services with an endpoint on each of 2000 nodes, and traffic that stays on the node, are fewer.
const MAX_LOOKS: usize = 1 << 29;

/// The most in one view: what lists more is not viewed.
const MAX_IN_ONE: usize = 1 << 22;

/// The views of all nodes would take too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unchecked: the views of all nodes look at more than {} endpoints, up to {service}; choose a node, or fewer Services",
    MAX_LOOKS
)]
pub struct TooManyViews {
    service: ObjectKey,
}

/// What is left of the work.
#[derive(Debug)]
pub(super) struct ViewWork(usize);

impl ViewWork {
    pub(super) fn new() -> Self {
        Self(MAX_LOOKS)
    }

    /// Takes work for a Service before it is done.
    pub(super) fn take(&mut self, service: &Service, looks: usize) -> Result<(), TooManyViews> {
        let left = self.0.checked_sub(looks).filter(|_| looks <= MAX_IN_ONE);
        self.0 = left.ok_or_else(|| TooManyViews { service: service.key() })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_has_an_end() {
        let (mut work, service) = (ViewWork::new(), Service::default());
        assert!(work.take(&service, MAX_IN_ONE + 1).is_err());
        for _ in 0..MAX_LOOKS / MAX_IN_ONE {
            assert_eq!(work.take(&service, MAX_IN_ONE), Ok(()));
        }
        assert!(work.take(&service, 1).is_err());
    }
}
