"""The canonical form: same content, same bytes (docs/canonical-format.md), and its writers."""
