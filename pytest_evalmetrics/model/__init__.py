"""The nouns that flow through an evaluation: frozen values, without behaviour of a stage."""
