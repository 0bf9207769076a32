"""The simulation of a plan: virtual tables, auto scaling, the two engines, and the recorder of a run."""
