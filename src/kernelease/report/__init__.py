"""The release explorer: a release as one page that opens anywhere, without a network."""
