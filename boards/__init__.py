"""The board descriptions, one TOML file each; ``edgeconv.target.board`` reads them."""
