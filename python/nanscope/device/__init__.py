"""What is read where tensors lie on an accelerator."""
