"""Private layers: what a backward pass leaves behind, and what a layer may not do with a batch."""
