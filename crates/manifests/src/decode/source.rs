//! An input and its limits.

use std::num::NonZeroUsize;

use roster_engine::model::{Interrupt, defaults::Defaults};

use super::{
    budget::MemoryAccount,
    error::{DecodeError, DecodeReason, Position},
};

/// The most policies that are in force for the objects of an input: each policy is asked about each object.
const MAX_POLICIES: usize = 500;

/// An input: its name, its format, and the limits for reading it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name for messages: a file name, `<stdin>`, `request body`.
    pub name: &'a str,
    /// Format of the text.
    pub format: InputFormat,
    /// Most bytes after decompression.
    pub max_bytes: Option<u64>,
    /// Most bytes of one object or, in YAML, of the whole text.
    pub max_object_bytes: usize,
    /// Most bytes of the whole text in YAML: a byte of it takes about ten times as long to read as one of JSON.
    pub max_yaml_bytes: usize,
    /// Most objects. A few bytes of text can be an object of some hundred bytes.
    pub max_objects: usize,
    /// Most bytes of memory for all objects.
    pub max_memory: usize,
    /// The memory that this input shares with others.
    pub account: Option<&'a dyn MemoryAccount>,
    /// Whether to end early.
    pub interrupt: Interrupt<'a>,
    /// Number of threads that parse.
    pub threads: NonZeroUsize,
    /// What is filled in, as an API server would.
    pub defaults: Defaults<'a>,
    /// Whether to find out why an API server would refuse objects that were never in a cluster.
    pub finds_refused: bool,
}

/// The format of an input. Gzip is recognized in each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputFormat {
    /// JSON if it begins with `{` or `[` and is not YAML in flow style, else YAML.
    #[default]
    Auto,
    /// JSON, one value or several.
    Json,
    /// YAML, one document or several.
    Yaml,
}

/// The format that a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextFormat {
    Json,
    /// YAML that begins in block style.
    Yaml,
    /// YAML that begins with a bracket.
    FlowYaml,
}

impl<'a> Source<'a> {
    /// A file of any size, read on all cores.
    pub fn file(name: &'a str) -> Self {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            name,
            format: InputFormat::Auto,
            max_bytes: None,
            max_object_bytes: 256 << 20,
            max_yaml_bytes: usize::MAX,
            max_objects: 20_000_000,
            max_memory: usize::MAX,
            account: None,
            interrupt: Interrupt::NEVER,
            threads,
            defaults: Defaults::default(),
            finds_refused: false,
        }
    }

    /// Manifests, which are held as a whole: at most 256 MiB after decompression, and 200 000 objects.
    pub fn manifests(name: &'a str) -> Self {
        Self { max_objects: 200_000, ..Self::file(name) }
    }

    /// Ends early if nobody waits for the answer any more.
    ///
    /// # Errors
    ///
    /// That nobody waits.
    pub fn check_interrupt(&self) -> Result<(), DecodeError> {
        self.interrupt.check().map_err(|why| Position::START.error(self.name, why.into()))
    }

    /// Refuses more policies than may be in force for the objects of an input.
    ///
    /// # Errors
    ///
    /// [`DecodeReason::TooManyPolicies`].
    pub fn check_policies(&self, count: usize) -> Result<(), DecodeError> {
        if count <= MAX_POLICIES {
            return Ok(());
        }
        Err(Position::START.error(self.name, DecodeReason::TooManyPolicies(MAX_POLICIES)))
    }

    /// Refuses a text that is longer than YAML may be.
    pub(super) fn check_yaml(&self, yaml: &str) -> Result<(), DecodeError> {
        if yaml.len() <= self.max_yaml_bytes {
            return Ok(());
        }
        Err(Position::START.error(self.name, DecodeReason::TooMuchYaml(self.max_yaml_bytes)))
    }

    /// The body of a request: at most 64 MiB after decompression, and half a million objects.
    ///
    /// The objects may take 64 MiB. The output of `kubectl` takes a fraction of its text, and a pod some 1000 bytes however
    /// short it is: without the limit, a body could take several GiB.
    pub fn body() -> Self {
        Self {
            max_bytes: Some(64 << 20),
            max_object_bytes: 64 << 20,
            max_objects: 500_000,
            max_memory: 64 << 20,
            finds_refused: true,
            ..Self::file("request body")
        }
    }
}
