"""The Qt console: asks the engine, shows, sends commands. It holds no rule of the engine."""
