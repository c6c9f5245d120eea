"""The engine: it makes models, optimizers and loaders private, clips, and takes steps."""
