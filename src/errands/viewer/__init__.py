"""The viewer: replays as values, one page that shows them, a local server and self-contained files."""
