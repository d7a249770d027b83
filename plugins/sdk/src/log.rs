//! Lines of the log: `info!(ctx, replicas = 3, "scaled {name}")`.

/// Writes a line at a level; fields come first, then the message as for `format!`.
///
/// ```
/// # fn hook(ctx: &pilothouse_sdk::Context) {
/// use pilothouse_sdk::{Level, log};
/// log!(ctx, Level::Debug, size = 3, "members are {}", "fine");
/// # }
/// ```
#[macro_export]
macro_rules! log {
    ($ctx:expr, $level:expr, $($key:ident = $value:expr,)* $message:literal $($arguments:tt)*) => {
        $ctx.log($level, ::core::format_args!($message $($arguments)*), &[$((::core::stringify!($key), &$value)),*])
    };
}

/// Writes a line for the author's eyes; see [`log!`](crate::log!).
#[macro_export]
macro_rules! debug {
    ($ctx:expr, $($rest:tt)+) => { $crate::log!($ctx, $crate::Level::Debug, $($rest)+) };
}

/// Writes a line about something normal; see [`log!`](crate::log!).
#[macro_export]
macro_rules! info {
    ($ctx:expr, $($rest:tt)+) => { $crate::log!($ctx, $crate::Level::Info, $($rest)+) };
}

/// Writes a line about something to look at; see [`log!`](crate::log!).
#[macro_export]
macro_rules! warn {
    ($ctx:expr, $($rest:tt)+) => { $crate::log!($ctx, $crate::Level::Warn, $($rest)+) };
}

/// Writes a line about something that failed; see [`log!`](crate::log!).
#[macro_export]
macro_rules! error {
    ($ctx:expr, $($rest:tt)+) => { $crate::log!($ctx, $crate::Level::Error, $($rest)+) };
}
