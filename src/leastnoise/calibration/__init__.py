"""The smallest scale of a family that meets a budget: found in floats, proved in balls."""
