"""Files that ship with the product: icons, example work orders, the scratch workspace."""
