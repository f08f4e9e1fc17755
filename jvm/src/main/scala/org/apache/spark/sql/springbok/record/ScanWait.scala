package org.apache.spark.sql.springbok.record

/**
 * Whether the scans of a key's filters wait for the stage that they come from.
 *
 * @param benefitMs
 *   time in ms of all cores that the filters are expected to save
 * @param idleMs
 *   time in ms of all cores that is expected to be lost while the scans wait, None if the costs did not decide
 */
final case class ScanWait(waits: Boolean, benefitMs: Double, idleMs: Option[Double] = None)
