"""What is shown of the engine's state: frozen values read from one snapshot, for every interface alike."""
