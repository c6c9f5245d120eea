"""Batches: how privacy units and examples are sampled, collated, handed out and recorded."""
