"""The parts of kill.py."""
