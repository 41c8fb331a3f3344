//! Sets the size of the module's stack.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("wasm32") {
        // The linker's default is 1 MiB, and the threads of the server have 2 MiB: what the server answers, the module answers.
        println!("cargo::rustc-link-arg-cdylib=-zstack-size=4194304");
    }
}
