"""The board descriptions, one TOML file each; ``edgeconv.board`` reads them."""
