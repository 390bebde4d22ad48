"""Tests of the example."""
