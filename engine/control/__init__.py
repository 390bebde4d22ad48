"""Human control: holds, cancel, decisions."""
