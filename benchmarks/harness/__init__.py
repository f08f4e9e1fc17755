"""What every benchmark uses: arms, data, measurements, and the runner of the suites."""
