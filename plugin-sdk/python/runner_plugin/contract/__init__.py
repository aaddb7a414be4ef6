"""The records of the contract, as `componentize-py` makes them of the WIT: for editors, and for tests without WebAssembly."""
