"""One release of a census-like table by several libraries: `make side-by-side`."""
