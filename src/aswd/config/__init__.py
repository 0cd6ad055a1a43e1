"""What a run is: schemas of all options, their composition by Hydra, and the resolved run configuration with its key."""
