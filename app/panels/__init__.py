"""The pages of the console, one package each."""
