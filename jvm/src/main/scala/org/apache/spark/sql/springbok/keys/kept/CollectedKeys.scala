package org.apache.spark.sql.springbok.keys.kept

import org.apache.spark.sql.springbok.keys.KeyFacts

/**
 * Keys that a query has collected, to be kept when it has finished.
 *
 * @param listing
 *   the files that it has read
 */
final private[sql] case class CollectedKeys(source: KeysSource, listing: FileListing, facts: KeyFacts)
