//! Tables of codes: enums whose variants have a meaning and further columns.

/// Defines an enum as a table. The fields name the columns; below them each row is a variant with its values. The
/// documentation of a row is its meaning.
#[doc(hidden)]
#[macro_export]
macro_rules! code_table {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$column_attribute:meta])* $column:ident: $type:ty,)*
        }
        $($(#[doc = $doc:literal])* $row:ident($($value:expr),*);)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $name {
            $($(#[doc = $doc])* $row,)*
        }

        impl $name {
            /// All rows, in the order of the table.
            $visibility const ALL: &[Self] = &[$(Self::$row),*];
            /// The number of rows.
            $visibility const COUNT: usize = Self::ALL.len();

            /// The meaning, as in the documentation of the row.
            $visibility fn meaning(self) -> &'static str {
                match self { $(Self::$row => concat!($($doc),*).trim_ascii()),* }
            }
        }

        const _: () = {
            struct Columns {
                $($column: $type,)*
            }

            const fn columns($($column: $type),*) -> Columns {
                Columns { $($column),* }
            }

            static TABLE: [Columns; $name::COUNT] = [$(columns($($value),*)),*];

            impl $name {
                $(
                    $(#[$column_attribute])*
                    $visibility fn $column(self) -> $type {
                        TABLE[self as usize].$column
                    }
                )*
            }
        };
    };
}
