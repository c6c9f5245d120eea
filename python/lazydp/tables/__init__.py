"""Private embedding tables: found, read settled, moved by steps, shared among ranks."""
