"""Environments of the user's as worlds: made and guarded, labelled by rules or functions, tables published or found by trying."""
