//! Reads a stream of JSON on several threads, in bounded memory.
//!
//! Each thread takes the next batch of objects from the [`Splitter`] under a lock, and parses it after it has released
//! the lock. There is no queue: memory holds one batch per thread. Batches are numbered, and their objects are joined in
//! order.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use roster_engine::{model::json::pointer::Pointer, reason::Reason};

use super::{
    any_reader::AnyReader,
    budget::{Budget, MemoryPool},
    error::{DecodeError, DecodeReason, Position},
    kind::{InputKind, TypeMeta},
    object::{self, DecodeContext, ObjectPlace},
    repeated_keys,
    source::{Source, TextFormat},
    split::{Batch, Item, Splitter},
};
use crate::inventory::{FindingsRoom, Inventory, Targets};

/// The result of one batch.
#[derive(Default)]
struct BatchPart {
    number: usize,
    found: Inventory,
    /// Objects whose type follows at the end of their list.
    held: Vec<HeldObject>,
    failed: Option<DecodeError>,
}

struct HeldObject {
    text: String,
    at: Position,
    document: usize,
    index: Option<usize>,
}

/// Reads all objects of a JSON input, which may be written in another format.
pub(super) fn read(
    input: AnyReader<'_>,
    format: TextFormat,
    source: &Source<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    let memory = MemoryPool::of(source);
    let mut splitter = Splitter::new(input, source.name, Position::START, source.max_object_bytes, &memory);
    let mut batch = Batch::default();
    let more = splitter.next(&mut batch)?;
    let common = Common {
        source,
        targets: into.targets(),
        objects: AtomicUsize::new(0),
        memory: &memory,
        format,
        written: format != TextFormat::Json || splitter.is_read(),
    };
    let mut worker = Worker::new(&common);
    let mut parts = vec![worker.parse(&batch, 0)];
    if more && !splitter.ended() && parts[0].failed.is_none() {
        let shared = Mutex::new((1, splitter));
        let stop = AtomicBool::new(false);
        parts.append(&mut in_parallel(&shared, &stop, worker, batch));
        splitter = shared.into_inner().unwrap_or_else(PoisonError::into_inner).1;
    }
    put_together(parts, &splitter, Worker::new(&common), into)
}

type Shared<'n> = Mutex<(usize, Splitter<'n>)>;

fn in_parallel(shared: &Shared<'_>, stop: &AtomicBool, worker: Worker<'_>, batch: Batch) -> Vec<BatchPart> {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..worker.common.source.threads.get())
            .map(|_| Worker::new(worker.common))
            .map(|worker| scope.spawn(|| take_batches(shared, stop, worker, Batch::default())))
            .collect();
        let mut parts = take_batches(shared, stop, worker, batch);
        for other in others {
            // A panic in a thread is a defect: it is propagated.
            parts.append(&mut other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        parts
    })
}

fn take_batches(shared: &Shared<'_>, stop: &AtomicBool, mut worker: Worker<'_>, mut batch: Batch) -> Vec<BatchPart> {
    let mut parts = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let (number, more) = {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.0 += 1;
            (shared.0 - 1, shared.1.next(&mut batch))
        };
        let part = match more {
            Ok(false) => break,
            Ok(true) => worker.parse(&batch, number),
            Err(error) => BatchPart { number, failed: Some(error), ..BatchPart::default() },
        };
        // Other threads finish the batches before this one.
        if part.failed.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
        parts.push(part);
    }
    parts
}

/// Joins the batches in the order of the input, up to the first error.
fn put_together(
    mut parts: Vec<BatchPart>,
    splitter: &Splitter<'_>,
    mut worker: Worker<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    parts.sort_unstable_by_key(|p| p.number);
    into.reserve(parts.iter().map(|p| &p.found));
    let mut held = Vec::new();
    for mut part in parts {
        into.merge(part.found);
        held.append(&mut part.held);
        if let Some(error) = part.failed {
            return Err(error);
        }
    }
    worker.release(held, splitter, None, into)
}

/// The state that all threads share.
struct Common<'s> {
    source: &'s Source<'s>,
    targets: Arc<Targets>,
    /// The number of objects so far, including nested lists.
    objects: AtomicUsize,
    /// Their memory.
    memory: &'s MemoryPool<'s>,
    format: TextFormat,
    /// Whether somebody may have written the text: programs print JSON, and much of it, in which no key is repeated.
    written: bool,
}

/// Parses batches, and interns the values that objects share.
struct Worker<'s> {
    common: &'s Common<'s>,
    context: DecodeContext<'s>,
    /// The buffer for a batch, reused because growing lists fragment the heap.
    found: Inventory,
    /// How many findings this thread may still keep: the first of an input are among the first of each thread.
    findings: FindingsRoom,
}

/// The nested list that a batch belongs to. kubectl does not print nested lists, but reads them.
struct OuterList {
    document: usize,
    pointer: String,
    depth: usize,
}

/// Deepest nesting of lists.
const MAX_DEPTH: usize = 4;

impl<'s> Worker<'s> {
    fn new(common: &'s Common<'s>) -> Self {
        let context = DecodeContext::new(&common.targets, Budget::new(common.memory));
        Self { common, context, found: Inventory::default(), findings: FindingsRoom::EMPTY }
    }

    fn parse(&mut self, batch: &Batch, number: usize) -> BatchPart {
        let (mut found, mut held) = (std::mem::take(&mut self.found), Vec::new());
        let failed = self.batch(batch, None, &mut found, &mut held).err();
        found.problems.keep_first(&mut self.findings);
        let part = BatchPart { number, found: found.take_exact(), held, failed };
        self.found = found;
        part
    }

    fn batch(
        &mut self,
        batch: &Batch,
        outer: Option<&OuterList>,
        into: &mut Inventory,
        held: &mut Vec<HeldObject>,
    ) -> Result<(), DecodeError> {
        let interrupted = self.common.source.interrupt.check();
        interrupted.map_err(|why| batch.at.error(self.common.source.name, why.into()))?;
        let max = self.common.source.max_objects;
        if self.common.objects.fetch_add(batch.items.len(), Ordering::Relaxed) > max - batch.items.len().min(max) {
            return Err(batch.at.error(self.common.source.name, DecodeReason::TooManyObjects(max)));
        }
        // The whole batch is checked at once, which is cheap; the objects one by one only if that fails.
        let all = std::str::from_utf8(batch.text());
        // Positions are computed on demand, from the last one: one pass over the text.
        let (mut from, mut known) = (0, batch.at);
        for item in &batch.items {
            let bytes = &batch.text()[item.start..item.end];
            let at = || known.after(&batch.text()[from..item.start]);
            let text = match all {
                Ok(all) => &all[item.start..item.end],
                Err(_) => std::str::from_utf8(bytes).map_err(|e| {
                    let reason = DecodeReason::Json("not UTF-8".to_owned());
                    at().after(&bytes[..e.valid_up_to()]).error(self.common.source.name, reason)
                })?,
            };
            let list = Pointer::At(outer.map_or("", |o| &o.pointer));
            let items = Pointer::Key(&list, "items");
            let pointer = item.index.map_or(list, |i| Pointer::Index(&items, i));
            let document = outer.map_or(item.document, |o| o.document);
            let place = ObjectPlace {
                document,
                is_block: self.common.format == TextFormat::Yaml,
                ..ObjectPlace::of(self.common.source, &at, pointer)
            };
            match kind_of(text, item) {
                Some(meta) if meta.kind() != InputKind::List || item.index.is_none() => {
                    self.add(text, &meta, place, into)?;
                    continue;
                }
                Some(meta) => self.nested(text, &meta, place, outer.map_or(1, |o| o.depth + 1), into)?,
                None => {
                    let object =
                        HeldObject { text: text.to_owned(), at: at(), document: item.document, index: item.index };
                    let size = 2 * size_of_val(&object) + text.len();
                    self.context.budget.keep(size).map_err(|why| object.at.error(self.common.source.name, why))?;
                    held.push(object);
                }
            }
            (from, known) = (item.start, at());
        }
        Ok(())
    }

    /// Reads a nested list.
    fn nested(
        &mut self,
        text: &str,
        meta: &TypeMeta,
        place: ObjectPlace<'_>,
        depth: usize,
        into: &mut Inventory,
    ) -> Result<(), DecodeError> {
        if depth > MAX_DEPTH {
            let why = "lists are nested too deeply";
            into.problems.add(Reason::InvalidObject.severity(), || object::invalid(text, meta, place, why));
            return Ok(());
        }
        let outer = OuterList { document: place.document, pointer: place.pointer.to_string(), depth };
        let mut splitter = Splitter::new(
            Box::new(text.as_bytes()),
            self.common.source.name,
            (place.at)(),
            text.len(),
            self.common.memory,
        );
        let (mut batch, mut held) = (Batch::default(), Vec::new());
        while splitter.next(&mut batch)? {
            self.batch(&batch, Some(&outer), into, &mut held)?;
        }
        self.release(held, &splitter, Some(&outer), into)
    }

    /// Parses the objects whose type follows at the end of their list.
    fn release(
        &mut self,
        held: Vec<HeldObject>,
        splitter: &Splitter<'_>,
        outer: Option<&OuterList>,
        into: &mut Inventory,
    ) -> Result<(), DecodeError> {
        for HeldObject { text, at, document, index } in held {
            let meta = splitter.late_kind(document).cloned().unwrap_or_default();
            let list = Pointer::At(outer.map_or("", |o| &o.pointer));
            let items = Pointer::Key(&list, "items");
            let pointer = index.map_or(list, |i| Pointer::Index(&items, i));
            let document = outer.map_or(document, |o| o.document);
            let at = || at;
            let place = ObjectPlace {
                document,
                is_block: self.common.format == TextFormat::Yaml,
                ..ObjectPlace::of(self.common.source, &at, pointer)
            };
            self.add(&text, &meta, place, into)?;
        }
        Ok(())
    }

    /// Reads an object.
    fn add(
        &mut self,
        text: &str,
        meta: &TypeMeta,
        place: ObjectPlace<'_>,
        into: &mut Inventory,
    ) -> Result<(), DecodeError> {
        let add = if self.common.written { repeated_keys::add } else { object::add };
        add(text, meta, place, &mut self.context, into)
    }
}

/// The type of an object, from the object or else from its list. `None` if the type follows at the end of the list.
fn kind_of(text: &str, item: &Item) -> Option<TypeMeta> {
    let named = TypeMeta::of(text, false);
    match &item.list {
        _ if named.is_complete() => Some(named),
        Some(list) if list.is_complete() => Some(if named.kind.is_empty() { list.clone() } else { named }),
        // A document, or an object of a plain list or of a list whose type is not known yet.
        list => {
            let named = TypeMeta::of(text, true);
            match list {
                Some(list) if named.kind.is_empty() => Some(TypeMeta { kind: list.kind.clone(), ..named }),
                None if named.kind.is_empty() && item.index.is_some() => None,
                _ => Some(named),
            }
        }
    }
}
