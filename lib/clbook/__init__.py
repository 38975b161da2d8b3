"""The command `clbook`; nothing is imported here, since its packages take seconds to load."""
