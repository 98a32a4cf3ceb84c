"""One file per place in a step where values can be seen. Each has `install(recorder) -> uninstall`."""
