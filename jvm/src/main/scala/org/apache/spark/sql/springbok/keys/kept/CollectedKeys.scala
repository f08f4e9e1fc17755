package org.apache.spark.sql.springbok.keys.kept

import org.apache.spark.sql.springbok.keys.{BuildKey, KeyFacts}

/**
 * A build side's key that may be kept for later queries.
 *
 * @param key
 *   the key at the build side's exchange
 * @param files
 *   the files that its table had before the build side was started
 */
final private[sql] case class CollectsKeys(key: BuildKey, source: KeysSource, files: Set[FileState])

/**
 * Keys that a query has collected, to be kept when it has finished.
 *
 * @param files
 *   the files that it has read
 */
final private[sql] case class CollectedKeys(
    source: KeysSource,
    listing: FileListing,
    files: Set[FileState],
    facts: KeyFacts
)
