"""The durable workflow engine: asyncio and SQLite, no Qt, usable headless."""
