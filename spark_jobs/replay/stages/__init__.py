"""Stages: the steps that write the tables of one slice, by kind of windows."""
