//! The macro that turns reconcilers into a plugin.

/// Makes a plugin of reconcilers: `export!(MyReconciler)`, or several for several kinds. Use it once, in the crate's root.
///
/// It defines `pub fn plugin() -> Plugin`, which native tests call, and inside a component it exports the hooks of the
/// world `plugin`. The reconcilers are expressions; they are evaluated once for each instance.
#[macro_export]
macro_rules! export {
    ($($reconciler:expr),+ $(,)?) => {
        /// The plugin with its reconcilers, as the host instantiates it.
        pub fn plugin() -> $crate::Plugin {
            $crate::Plugin::new()$(.with($reconciler))+
        }

        #[cfg(target_family = "wasm")]
        const _: () = {
            ::std::thread_local! {
                static PLUGIN: $crate::Plugin = plugin();
            }

            struct Component;

            impl $crate::guest::Guest for Component {
                fn reconcile(
                    request: $crate::guest::Request,
                ) -> ::core::result::Result<$crate::guest::Outcome, $crate::guest::Failure> {
                    PLUGIN.with(|plugin| $crate::guest::reconcile(plugin, request))
                }

                fn finalize(
                    request: $crate::guest::Request,
                ) -> ::core::result::Result<$crate::guest::Finalized, $crate::guest::Failure> {
                    PLUGIN.with(|plugin| $crate::guest::finalize(plugin, request))
                }
            }

            $crate::guest::bindings::export!(Component with_types_in $crate::guest::bindings);
        };
    };
}

/// Gives a plugin hooks of a lifecycle beside its reconcilers: `export_hooks!(MyHooks)`, with a
/// [`LifecycleHook`](crate::LifecycleHook). Use it once, in the crate's root; the manifest asks for the phases (`rights.hooks`).
/// It defines `pub fn hooks()`, which native tests call.
#[macro_export]
macro_rules! export_hooks {
    ($hooks:expr) => {
        /// The plugin's hooks, as the host calls them.
        pub fn hooks() -> impl $crate::LifecycleHook {
            $hooks
        }

        #[cfg(target_family = "wasm")]
        const _: () = {
            struct Hooks;

            impl $crate::guest::hooks::Guest for Hooks {
                fn plan(
                    announced: $crate::guest::hooks::Announced,
                ) -> ::core::result::Result<
                    ::std::vec::Vec<$crate::guest::hooks::Hook>,
                    $crate::guest::hooks::HookError,
                > {
                    $crate::guest::hooks::plan(&hooks(), announced)
                }

                fn run(
                    task: $crate::guest::hooks::Task,
                ) -> ::core::result::Result<$crate::guest::hooks::Step, $crate::guest::hooks::HookError>
                {
                    $crate::guest::hooks::run(&hooks(), task)
                }

                fn cancel(
                    task: $crate::guest::hooks::Task,
                ) -> ::core::result::Result<(), $crate::guest::hooks::HookError> {
                    $crate::guest::hooks::cancel(&hooks(), task)
                }
            }

            $crate::guest::bindings::hooks::export_hooks!(
                Hooks with_types_in $crate::guest::bindings::hooks
            );
        };
    };
}

/// Gives a plugin commands beside its hooks: `export_commands!(answer)`, with a function from a [`Host`](crate::Host) and
/// an [`Invocation`](crate::Invocation) to a [`CommandAnswer`](crate::CommandAnswer). Use it once, in the crate's root.
#[macro_export]
macro_rules! export_commands {
    ($command:path) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct Commands;

            impl $crate::guest::command::Guest for Commands {
                fn run(invocation: $crate::guest::command::Invocation) -> $crate::guest::command::Answer {
                    $crate::guest::command::run(invocation, $command)
                }
            }

            $crate::guest::bindings::command::export_commands!(
                Commands with_types_in $crate::guest::bindings::command
            );
        };
    };
}
