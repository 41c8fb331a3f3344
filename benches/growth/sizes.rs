//! Families of inputs: a way in, the dimensions of its inputs, and what makes an input of given sizes.

use std::collections::BTreeMap;

/// How large an input is in each dimension.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    given: BTreeMap<&'static str, usize>,
    base: &'static [(&'static str, usize)],
}

impl Sizes {
    /// These dimensions, `n` in each; all others as the family has them.
    pub(crate) fn of(family: &Family, dimensions: &[&'static str], n: usize) -> Self {
        Self { given: dimensions.iter().map(|name| (*name, n)).collect(), base: family.base }
    }

    /// The size in a dimension. One that the family does not name is 0.
    pub(crate) fn get(&self, name: &str) -> usize {
        let base = || self.base.iter().find(|(of, _)| *of == name).map_or(0, |(_, size)| *size);
        self.given.get(name).copied().unwrap_or_else(base)
    }
}

/// Inputs of one way in.
pub(crate) struct Family {
    /// What a case of it is called first.
    pub name: &'static str,
    /// The dimensions, and the size in each while another one grows.
    pub base: &'static [(&'static str, usize)],
    /// Pairs of dimensions that say nothing: one has no effect without the other, or only the other counts.
    pub without: &'static [(&'static str, &'static str)],
    /// Makes an input.
    pub make: fn(&Sizes) -> Input,
}

/// Pairs of dimensions: one, and each of several others.
macro_rules! pairs {
    ($($one:literal: $($other:literal),+;)*) => { &[$($(($one, $other)),+),*] };
}
pub(crate) use pairs;

/// What a case does, and with what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Input {
    /// The way in, as `ways` reads it: `post /v1/plan`, `validate`, `edge superedge`, `cli lint`.
    pub way: String,
    /// The text that comes in.
    pub body: String,
    /// Objects that are known already, as a JSON list.
    pub stored: String,
    /// Policies that are in force, as a JSON list.
    pub policies: String,
}

impl Input {
    /// The bytes to which the work must be proportional.
    pub(crate) fn bytes(&self) -> usize {
        self.body.len() + self.stored.len() + self.policies.len()
    }
}

impl Family {
    /// Each dimension, and each pair.
    pub(crate) fn cases(&self) -> Vec<Vec<&'static str>> {
        let names: Vec<&'static str> = self.base.iter().map(|(name, _)| *name).collect();
        let mut cases: Vec<Vec<&'static str>> = names.iter().map(|name| vec![*name]).collect();
        for (at, first) in names.iter().enumerate() {
            for second in &names[at + 1..] {
                let pair = (*first, *second);
                if !self.without.contains(&pair) && !self.without.contains(&(pair.1, pair.0)) {
                    cases.push(vec![pair.0, pair.1]);
                }
            }
        }
        cases
    }

    /// The name of a case: `review slice: addresses × ports`.
    pub(crate) fn case_name(&self, dimensions: &[&str]) -> String {
        format!("{}: {}", self.name, dimensions.join(" × "))
    }
}
