package org.apache.spark.sql.springbok.stats.history

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.springbok.catalyst.SparkPlanning
import org.apache.spark.sql.springbok.stats.source.ByIdentity

/**
 * Keys of parts of queries, by what they compute: equal for parts of different queries that have equal rows if their tables
 * are equal.
 *
 *   - Tables count by their names or paths, columns by their names, and not by the numbers that Spark gives to attributes.
 *   - Filters and inner joins are one set of inputs and one set of conjuncts: neither the order of joins nor the place of a
 *     filter matters. Of equal columns only the class counts: `a = b AND b = c` is the same as `a = b AND a = c`.
 *   - Projections and sorts do not change the rows, so they do not count. A column that is computed counts by its expression.
 *   - A query stage counts as the plan that it was made from, and so does a cached table.
 *   - Conjuncts of dynamic partition pruning do not count: their join removes the same rows. Springbok's runtime filters are
 *     not part of logical plans.
 *
 * A part has no key if it is not deterministic, reads a subquery, or has an operator or a function that is not known here.
 * Rows below a limit are not deterministic.
 *
 * @param literals
 *   whether the values of literals count, or only their types
 */
final private[history] class PlanKeys(literals: Boolean) {
  import PlanKeys._

  private val known = ByIdentity[LogicalPlan, Option[Block]]()

  /** The key of a plan, None if it has none. */
  def apply(plan: LogicalPlan): Option[Digest] = block(plan).flatMap(_.digest)

  /** The key of a column among those of its plan, None if it has none. */
  def column(plan: LogicalPlan, a: Attribute): Option[Digest] = block(plan).flatMap(_.column(a))

  /** Remembers for a node the key of an equal one. */
  def carry(from: LogicalPlan, to: LogicalPlan): Unit =
    ByIdentity.carry(known, from, to)

  /**
   * The keys of inner joins of some of these inputs, with all conditions that have no columns of others.
   *
   * @return
   *   by the numbers of the inputs, at least one and in their order. None if a part has no key
   */
  def joins(inputs: IndexedSeq[LogicalPlan], conditions: Seq[Expression]): Seq[Int] => Option[Digest] = {
    val blocks = inputs.map(block)
    val columns = inputs.map(_.outputSet)
    val places = conditions.filter(_.references.nonEmpty).flatMap(PlanKeys.conjuncts).map { c =>
      c -> c.references.map(a => columns.indexWhere(_.contains(a))).toSet
    }
    members => {
      val own = places.collect { case (c, place) if place.forall(members.contains) => c }
      Digest.all(members)(blocks).flatMap(_.reduceLeft(_ joined _).filtered(own).digest)
    }
  }

  private def block(plan: LogicalPlan): Option[Block] = Option(known.getIfPresent(plan)).getOrElse {
    val b = make(plan).filter(_.hasKey)
    known.put(plan, b)
    b
  }

  private def make(plan: LogicalPlan): Option[Block] = plan match {
    case s: LogicalQueryStage => block(s.logicalPlan)
    case Filter(condition, child) =>
      block(child).map(_.filtered(PlanKeys.conjuncts(condition)))
    case Project(list, child) => block(child).map(_.computing(list))
    case Join(left, right, _: InnerLike, condition, _) =>
      for (l <- block(left); r <- block(right))
        yield l.joined(r).filtered(condition.toSeq.flatMap(PlanKeys.conjuncts))
    case _: Sort | _: SubqueryAlias | _: View | _: RepartitionOperation | _: ResolvedHint | _: ReturnAnswer |
        _: RebalancePartitions | _: Subquery =>
      block(plan.children.head)
    case other => input(other).map(i => new Block(Seq(i), Nil, Map.empty))
  }

  private def input(plan: LogicalPlan): Option[Input] = plan match {
    case m: InMemoryRelation => cached(m)
    case leaf: LeafNode =>
      val output = leaf.output
      lazy val columns = output.map(a => a.exprId -> a).toMap
      for (digest <- InputKey(leaf)) yield new Input(digest, columns.get(_).map(InputKey.column))
    case a: Aggregate => block(a.child).flatMap(aggregated(a, _))
    case j: Join => outer(j)
    case u: Union => united(u)
    case w: Window => block(w.child).flatMap(b => b.digest.map(widened(w, b, _)))
    case g: Generate =>
      for (b <- block(g.child); child <- b.digest; by <- b.key(g.generator)) yield {
        val digest = Digest.of(s"generate ${g.outer}", child, by)
        val (made, passed) = (Input.of(digest, g.generatorOutput), g.child.output)
        new Input(digest, id => made.column(id).orElse(b.passed(passed, id)))
      }
    case e: Expand =>
      for {
        b <- block(e.child)
        child <- b.digest
        rows <- Digest.all(e.projections)(p => Digest.all(p)(b.key).map(Digest.of("row", _)))
      } yield Input.of(Digest.of("expand", child +: rows), e.output)
    case _ => None
  }

  private def cached(m: InMemoryRelation): Option[Input] = for {
    plan <- SparkPlanning.cachedPlan(m).filter(_.output.size == m.output.size)
    digest <- apply(plan)
  } yield Input.of(Digest.of("cached", digest), m.output)

  private def aggregated(a: Aggregate, b: Block): Option[Input] = for {
    child <- b.digest
    by <- Digest.all(a.groupingExpressions)(b.key)
  } yield {
    val digest = Digest.of("aggregate", child, Digest.unordered("by", by.distinct))
    val made = a.aggregateExpressions
    new Input(digest, b.computed(made, _))
  }

  /** Joins other than inner ones. A right outer join is a left outer join of the sides in the other order. */
  private def outer(j: Join): Option[Input] = {
    val (name, first, second) = j.joinType match {
      case RightOuter => (LeftOuter.toString, j.right, j.left)
      // It has an attribute of its own, which says whether a row was found.
      case _: ExistenceJoin => ("existence", j.left, j.right)
      case t => (t.toString, j.left, j.right)
    }
    for {
      l <- block(first)
      r <- block(second)
      left <- l.digest
      right <- r.digest
      on <- Digest.all(j.condition.toSeq.flatMap(PlanKeys.conjuncts))(sides(l, r).apply)
    } yield {
      val digest = Digest.of(name, left, right, Digest.unordered("on", on.distinct))
      val exists = Input.of(
        digest,
        j.joinType match {
          case ExistenceJoin(found) => Seq(found)
          case _ => Nil
        }
      )
      val (ofFirst, ofSecond) = (first.output, second.output)
      def ofSides(id: ExprId) =
        l.passed(ofFirst, id).map(leftSide).orElse(r.passed(ofSecond, id).map(rightSide))
      new Input(digest, id => exists.column(id).orElse(ofSides(id)))
    }
  }

  private def sides(l: Block, r: Block): ExpressionKey =
    new ExpressionKey(literals, a => l.column(a).map(leftSide).orElse(r.column(a).map(rightSide)))

  private def united(u: Union): Option[Input] =
    Digest
      .all(u.children) { c =>
        for (b <- block(c); child <- b.digest; columns <- Digest.all(c.output)(b.key))
          yield Digest.of("branch", child +: columns)
      }
      .map(branches => Input.of(Digest.of("union", branches), u.output))

  private def widened(w: Window, b: Block, child: Digest): Input = {
    val (made, passed) = (w.windowExpressions, w.child.output)
    new Input(Digest.of("window", child), id => b.computed(made, id).orElse(b.passed(passed, id)))
  }

  /**
   * Inputs that are joined and filtered, in any order.
   *
   * @param conjuncts
   *   conditions of the filters and joins, in terms of the inputs' attributes and of those that are computed
   * @param aliases
   *   expressions of the attributes that projections compute
   * @param done
   *   the digests of the first conjuncts, which are known from a part of it
   * @param known
   *   the digests of columns, which are known from a part of it
   */
  final private class Block(
      val inputs: Seq[Input],
      val conjuncts: Seq[Expression],
      val aliases: Map[ExprId, Expression],
      done: Seq[Conjunct] = Nil,
      known: Map[ExprId, Digest] = Map.empty
  ) {
    // If two threads add to it, one column may be made again.
    @volatile private var columns = known

    /** Equal inputs, as those of a self-join, are told apart by their order. */
    private def ofInput(id: ExprId): Option[Digest] = {
      val at = inputs.indexWhere(_.column(id).isDefined)
      if (at < 0) None
      else inputs(at).numbered(id, inputs.take(at).count(_.digest == inputs(at).digest))
    }

    private val expressions = new ExpressionKey(literals, column)

    def key(e: Expression): Option[Digest] = expressions(e)

    def column(a: Attribute): Option[Digest] = columns.get(a.exprId).orElse {
      val made = ofInput(a.exprId).orElse(aliases.get(a.exprId).flatMap(key(_)))
      made.foreach(d => columns += a.exprId -> d)
      made
    }

    /** Whether all of its conjuncts have keys. */
    def hasKey: Boolean = where.isDefined

    private lazy val where: Option[Seq[Conjunct]] =
      Digest.all(conjuncts.drop(done.size))(conjunct).map(done ++ _)

    private def conjunct(e: Expression): Option[Conjunct] = e match {
      case EqualTo(a: Attribute, b: Attribute) if a.dataType == b.dataType =>
        for (x <- column(a); y <- column(b)) yield Equal(Set(x, y))
      case _ => key(e).map(Condition(_))
    }

    lazy val digest: Option[Digest] = where.map { all =>
      val inner = Digest.unordered("inputs", inputs.map(_.digest))
      val equal = PlanKeys.classes(all.collect { case Equal(c) => c }).map(c => Digest.unordered("equal", c))
      val others = all.collect { case Condition(c) => c }
      Digest.of("block", inner, Digest.unordered("where", equal ++ others.distinct))
    }

    def filtered(by: Seq[Expression]): Block =
      if (by.isEmpty) this
      else new Block(inputs, conjuncts ++ by, aliases, where.getOrElse(Nil), columns)

    def joined(o: Block): Block = {
      // Equal inputs get other numbers.
      val distinct = inputs.map(_.digest).intersect(o.inputs.map(_.digest)).isEmpty
      val done = for (mine <- where if distinct; others <- o.where) yield mine ++ others
      val both = if (distinct) columns ++ o.columns else columns
      new Block(inputs ++ o.inputs, conjuncts ++ o.conjuncts, aliases ++ o.aliases, done.getOrElse(Nil), both)
    }

    def computing(list: Seq[NamedExpression]): Block = {
      val made = list.collect { case a: Alias => a.exprId -> a.child }
      if (made.isEmpty) this
      else new Block(inputs, conjuncts, aliases ++ made, where.getOrElse(Nil), columns)
    }

    /** A column that an operator above passes on. */
    def passed(output: Seq[Attribute], id: ExprId): Option[Digest] =
      output.find(_.exprId == id).flatMap(column)

    /** A column that an operator above computes. */
    def computed(list: Seq[NamedExpression], id: ExprId): Option[Digest] =
      list.find(_.exprId == id).flatMap(key)
  }
}

private[history] object PlanKeys extends PredicateHelper {

  /** Conjuncts that decide the rows. */
  private def conjuncts(condition: Expression): Seq[Expression] =
    PlanKeys.splitConjunctivePredicates(condition).filterNot(_.isInstanceOf[DynamicPruning])

  private def leftSide(column: Digest): Digest = Digest.of("left", column)
  private def rightSide(column: Digest): Digest = Digest.of("right", column)

  /** A conjunct of filters and joins. */
  sealed private trait Conjunct

  /** Columns of one type that are equal, by their digests. */
  final private case class Equal(columns: Set[Digest]) extends Conjunct
  final private case class Condition(digest: Digest) extends Conjunct

  /** What is equal also by way of others. */
  private def classes(equal: Seq[Set[Digest]]): Seq[Set[Digest]] =
    equal.foldLeft(Seq.empty[Set[Digest]]) { (known, pair) =>
      val (same, others) = known.partition(_.exists(pair.contains))
      others :+ same.foldLeft(pair)(_ ++ _)
    }

  /**
   * An input of filters and joins.
   *
   * @param make
   *   the digest of a column, None if it has no such column, or if the column is not deterministic. Few columns of a table
   *   are asked for. It holds no plan: the plan is the weak key that the digest is remembered by
   */
  final private class Input(val digest: Digest, make: ExprId => Option[Digest]) {
    private val columns, numbers = new ConcurrentHashMap[ExprId, Option[Digest]]()

    def column(id: ExprId): Option[Digest] = columns.computeIfAbsent(id, make(_))

    /** The column among those of all inputs. Inputs with one digest are told apart by their numbers; 0 is nearly always it. */
    def numbered(id: ExprId, number: Int): Option[Digest] = {
      def made = column(id).map(Digest.of(s"input $number", digest, _))
      if (number == 0) numbers.computeIfAbsent(id, _ => made) else made
    }
  }

  private object Input {

    /** With columns that are known by their places. */
    def of(digest: Digest, output: Seq[Attribute]): Input = new Input(
      digest,
      id => Some(output.indexWhere(_.exprId == id)).filter(_ >= 0).map(i => Digest.of(s"column $i", digest))
    )
  }
}
