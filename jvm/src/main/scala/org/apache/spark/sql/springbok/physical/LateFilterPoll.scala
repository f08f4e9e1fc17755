package org.apache.spark.sql.springbok.physical

/** A task's question whether a late filter has arrived. */
sealed private[physical] trait LateFilterPoll {

  /** The filter's number, see [[LateFilter.id]]. */
  def filter: Long

  /** The task's partition. */
  def partition: Int
}

private[physical] object LateFilterPoll {

  /** The task will ask again if the filter is not there. */
  final case class Poll(filter: Long, partition: Int) extends LateFilterPoll

  /** The task will not ask again: without the filter it does not test its rows. */
  final case class FinalPoll(filter: Long, partition: Int) extends LateFilterPoll

  /**
   * Messages are arrays of numbers. An RPC environment knows no classes of jars that come with an application, and a
   * message of an unknown class closes the connection between executor and driver.
   */
  def encode(poll: LateFilterPoll): Array[Long] = {
    val kind = poll match {
      case _: Poll => 0L
      case _: FinalPoll => 1L
    }
    Array(poll.filter, poll.partition.toLong, kind)
  }

  def decode(message: Array[Long]): LateFilterPoll = {
    val (filter, partition) = (message(0), message(1).toInt)
    if (message(2) == 0) Poll(filter, partition) else FinalPoll(filter, partition)
  }
}
