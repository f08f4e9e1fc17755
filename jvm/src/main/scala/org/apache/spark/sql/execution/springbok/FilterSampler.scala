package org.apache.spark.sql.execution.springbok

/**
 * Stops a task from testing a filter that rejects too little, and lets it look again later.
 *
 * @param keepAtMost
 *   rows of a sample that may pass
 */
final class FilterSampler(keepAtMost: Int) {
  private var skip = 0
  private var seen = 0
  private var passedRows = 0
  private var pause = AppliedRuntimeFilterExec.sample

  /** Whether the next row is not tested. */
  def paused(): Boolean = skip > 0 && {
    skip -= 1
    true
  }

  /** Counts a tested row; true if the filter pauses now. */
  def saw(passed: Boolean): Boolean = {
    if (passed) passedRows += 1
    seen += 1
    seen == AppliedRuntimeFilterExec.sample && {
      val useless = passedRows > keepAtMost
      // Each look that finds nothing doubles the time to the next one.
      pause = if (useless) math.min(pause * 2, 1 << 22) else AppliedRuntimeFilterExec.sample
      if (useless) skip = pause
      seen = 0
      passedRows = 0
      useless
    }
  }
}
