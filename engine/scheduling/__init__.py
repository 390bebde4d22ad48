"""Tasks, claims and leases, gates, workspace lanes, the coordinator."""
