//! A body and what its computation may take.

use roster_engine::model::Interrupt;
use roster_manifests::decode::{DecodeReason, MemoryAccount, Source};

use crate::{Format, Problem, ProblemKind};

/// The limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// The size of a body in bytes, and for YAML an eighth of it.
    pub body: usize,
    /// The most memory that the objects of a body may take, in bytes.
    pub objects: usize,
    /// The most memory that a computation may take besides, in bytes.
    pub computation: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { body: 64 << 20, objects: 64 << 20, computation: 144 << 20 }
    }
}

impl CallLimits {
    /// The most bytes of a body in this format after decompression. A byte of YAML takes about ten times as long to read as
    /// one of JSON.
    pub fn body_in(&self, format: Format) -> usize {
        if format == Format::Yaml { self.body / 8 } else { self.body }
    }

    /// The problem of a body with more bytes than it may have in this format.
    pub fn too_large(&self, format: Format) -> Problem {
        let limit = self.body_in(format);
        if format != Format::Yaml {
            return too_large(limit);
        }
        let as_json = self.body_in(Format::Json);
        let detail =
            format!("the body has more than {limit} bytes of YAML after decompression; of JSON, it may have {as_json}");
        Problem::new(ProblemKind::TooLarge, detail)
    }
}

/// The problem of a body over `limit`.
pub fn too_large(limit: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemKind::TooLarge, format!("the body has more than {limit} bytes after decompression"))
}

/// A body within its limit, decompressed, and what its computation may take.
#[derive(Clone, Copy, Debug)]
pub struct PostedBody<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) format: Format,
    /// Whether nobody waits for the answer any more.
    pub(crate) interrupt: Interrupt<'b>,
    limits: CallLimits,
    account: Option<&'b dyn MemoryAccount>,
}

impl<'b> PostedBody<'b> {
    /// A body that shares its memory with nobody, and whose answer somebody waits for.
    ///
    /// # Errors
    ///
    /// The body is longer than `limits` say.
    pub fn new(bytes: &'b [u8], format: Format, limits: CallLimits) -> Result<Self, Problem> {
        if bytes.len() > limits.body_in(format) {
            return Err(limits.too_large(format));
        }
        Ok(Self { bytes, format, interrupt: Interrupt::NEVER, limits, account: None })
    }

    /// The same body, whose computation ends early when `interrupt` asks for it.
    #[must_use]
    pub fn until(self, interrupt: Interrupt<'b>) -> Self {
        Self { interrupt, ..self }
    }

    /// The same body, whose objects and computation take their memory from `account`.
    #[must_use]
    pub fn charged_to(self, account: &'b dyn MemoryAccount) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Charges what a computation takes besides the objects, until it is done.
    pub(crate) fn charge(&self, bytes: usize) -> Result<(), Problem> {
        let most = self.limits.computation;
        if bytes > most {
            let detail = format!("the computation takes more than {most} bytes of memory");
            return Err(Problem::new(ProblemKind::TooLarge, detail));
        }
        if self.account.is_none_or(|account| account.take(bytes)) {
            return Ok(());
        }
        Err(Problem::new(ProblemKind::Busy, DecodeReason::NoMemory.to_string()))
    }

    /// How to read objects from it.
    pub(crate) fn source(&self) -> Source<'b> {
        // The limit of its length has been applied already.
        Source {
            format: self.format.input(),
            max_bytes: None,
            max_object_bytes: usize::MAX,
            max_memory: self.limits.objects,
            account: self.account,
            interrupt: self.interrupt,
            ..Source::body()
        }
    }
}
