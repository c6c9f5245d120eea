"""What a run may claim: mechanism, initial model, accountants, and their checkpoints."""
