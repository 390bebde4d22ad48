"""Validation, settlement, correction and the workflow that composes them."""
