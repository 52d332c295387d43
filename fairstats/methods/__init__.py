"""The five methods; they do not import each other."""
