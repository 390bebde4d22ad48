"""What a workspace folder holds: containment, manifests, digests, repository state."""
