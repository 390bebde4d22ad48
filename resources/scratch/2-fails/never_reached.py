"""Would judge the result of a step that never succeeds."""

print("If you read this in an output, the console has a fault: please report it.")
