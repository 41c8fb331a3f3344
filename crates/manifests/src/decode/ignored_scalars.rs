//! Methods of visitors that look for something in a value, and not at its numbers.

/// The methods of a [`Visitor`](serde::de::Visitor) of `()` that ignore `null`, booleans and numbers.
macro_rules! ignore_scalars {
    () => {
        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }

        fn visit_bool<E>(self, _: bool) -> Result<(), E> {
            Ok(())
        }

        fn visit_i64<E>(self, _: i64) -> Result<(), E> {
            Ok(())
        }

        fn visit_u64<E>(self, _: u64) -> Result<(), E> {
            Ok(())
        }

        fn visit_f64<E>(self, _: f64) -> Result<(), E> {
            Ok(())
        }
    };
}

pub(crate) use ignore_scalars;
