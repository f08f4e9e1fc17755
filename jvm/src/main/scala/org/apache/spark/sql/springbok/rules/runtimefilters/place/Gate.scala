package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.springbok.conf.FilterMode
import org.apache.spark.sql.springbok.cost.CostConstants
import org.apache.spark.sql.springbok.keys.SourceKey
import org.apache.spark.sql.springbok.reason.Reason

/**
 * A condition for placing the filters of a key. A gate passes the candidate on, possibly with fewer targets, or says why no
 * filter is placed.
 */
sealed private[place] trait Gate {
  def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets): Either[Reason, Candidate]
}

private[place] object Gate {

  /** The cheap conditions come first: the order also decides which reason is reported. */
  private val all: Seq[Gate] = Seq(
    RunsInSpark,
    NotDeclinedBefore,
    ReachesScan,
    NotFilteredBySpark,
    Selective,
    CanBeSent,
    AllowedByMode,
    WorthPlanning,
    WaitsOrMayBeLate
  )

  def pass(c: Candidate, planning: FilterPlanning, targets: FilterTargets): Either[Reason, Candidate] =
    all.foldLeft[Either[Reason, Candidate]](Right(c))((passed, gate) =>
      passed.flatMap(gate(_, planning, targets))
    )

  /** The candidate with these targets, if there are any. */
  private def on(c: Candidate, targets: Seq[Target], whyNone: => Reason): Either[Reason, Candidate] =
    Either.cond(targets.nonEmpty, c.copy(targets = targets), whyNone)

  /**
   * A native engine turns columns into rows for an operator that it does not know, and back again. That costs more than most
   * filters save.
   */
  private case object RunsInSpark extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) =
      planning.columnarRule.filterNot(_ => c.key.hinted).map(Reason.columnarRule).toLeft(c)
  }

  /** A key that was declined, and would be again, is not traced to its scans at each planning. */
  private case object NotDeclinedBefore extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) =
      c.key.notSelective
        .filter(_ => planning.query.filters.declined(c.key.id.join, c.key.id.index))
        .toLeft(c)
  }

  private case object ReachesScan extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) = {
      val side = c.key.side
      on(
        c,
        targets.of(side.join, side.side.other, c.applicationKey),
        targets.whyNone(side.application, c.applicationKey)
      )
    }
  }

  /** Spark's bloom filter tests rows. Only ours lets the scan skip row groups, which most of a large table may be. */
  private case object NotFilteredBySpark extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) = {
      val left = c.targets
        .filterNot(t => SparkFilters.prune(t.at, t.key, c.key.on.creation, c.key.broadcast))
        .flatMap(t => if (SparkFilters.test(t.at, t.key)) Some(t.readingLess).filter(_.skips) else Some(t))
      on(c, left, Reason.sparkFilters)
    }
  }

  private case object Selective extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) =
      c.key.notSelective.toLeft(c)
  }

  /** A scan must not wait for a filter that its build side's tasks cannot send, or that passes most rows. */
  private case object CanBeSent extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) = c.sourceKey match {
      case _: SourceKey.Shuffle if mustBeSent(c.key) && !c.targets.exists(_.skips) =>
        c.key.falsePositives match {
          case None => Either.cond(c.key.hinted, c, Reason.noBloom)
          case Some(rate) =>
            val sent = c.copy(falsePositives = rate)
            Either.cond(
              c.key.hinted || sent.retained <= 1 - planning.minRejection,
              sent,
              Reason.bloomFull(rate)
            )
        }
      case _ => Right(c)
    }

    private def mustBeSent(key: CreationKey) = key.bloomBytes > 0 && !BuildSides.finished(key.exchange)
  }

  private case object AllowedByMode extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) =
      if (planning.mode != FilterMode.Local) Right(c)
      else on(c, c.targets.filter(c.local), Reason.modeOff(planning.mode.name))
  }

  /**
   * A scan that waits for another stage must save more time than that stage takes to be scheduled. A scan that waits anyway
   * must save what it takes to plan the filter.
   */
  private case object WorthPlanning extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) = {
      val benefit = planning.ms((1 - c.retained) * c.targets.map(_.benefitNs).sum)
      val waits = !c.targets.exists(c.local)
      val least =
        if (c.key.hinted || planning.waiting.always) 0.0
        else planning.minBenefitMs * (if (waits) 1.0 else CostConstants.localShare)
      Either.cond(
        benefit >= least,
        c.copy(benefitMs = benefit, leastMs = least),
        Reason.smallBenefit(benefit, least)
      )
    }
  }

  private case object WaitsOrMayBeLate extends Gate {
    override def apply(c: Candidate, planning: FilterPlanning, targets: FilterTargets) = {
      val over = c.key.side.state.waitIsOver
      val decided = c.copy(waiting = Some(planning.waiting.scansWait(c.key, c.benefitMs)))
      val left = c.targets.filter(t => decided.waits(t) || planning.waiting.mayBeLate(c.key, t))
      on(decided, left, if (over) Reason.waitEnded else Reason.noWaiting)
    }
  }
}
