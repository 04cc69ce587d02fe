"""Where a run goes on from an earlier run, or hands over to a live job."""
