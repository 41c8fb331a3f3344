//! Which code is compiled for tests alone.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

/// Whether these attributes keep something out of every build but that of the tests.
pub(super) fn only_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        if path.is_ident("cfg") {
            return attribute.parse_args().is_ok_and(|predicate| needs_test(&predicate));
        }
        // `#[test]`, `#[tokio::test]`.
        path.segments.last().is_some_and(|s| s.ident == "test")
    })
}

/// Whether a predicate of `cfg` holds in tests only.
fn needs_test(predicate: &Meta) -> bool {
    let parts = |list: &syn::MetaList| list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok();
    match predicate {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => parts(list).is_some_and(|all| all.iter().any(needs_test)),
        Meta::List(list) if list.path.is_ident("any") => {
            parts(list).is_some_and(|any| !any.is_empty() && any.iter().all(needs_test))
        }
        _ => false,
    }
}
