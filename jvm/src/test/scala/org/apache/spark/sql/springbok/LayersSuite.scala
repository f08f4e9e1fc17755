package org.apache.spark.sql.springbok

import com.tngtech.archunit.ArchConfiguration
import com.tngtech.archunit.base.DescribedPredicate
import com.tngtech.archunit.core.domain.{JavaClasses, JavaMethodCall}
import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import com.tngtech.archunit.library.Architectures.layeredArchitecture
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices
import org.apache.spark.sql.springbok.record.Decisions
import org.scalatest.funsuite.AnyFunSuite

/** Packages import in one direction only: a layer may use those that stand above it in this list. */
class LayersSuite extends AnyFunSuite {
  private val root = "org.apache.spark.sql.springbok"
  private val operators = "org.apache.spark.sql.execution.springbok"

  /** Each layer with its packages. */
  private val layers: Seq[(String, Seq[String])] = Seq(
    "conf" -> Seq(s"$root.conf.."),
    "catalyst" -> Seq(s"$root.catalyst.."),
    "reason" -> Seq(s"$root.reason.."),
    "stats" -> Seq(s"$root.stats.."),
    "cost" -> Seq(s"$root.cost.."),
    "keys" -> Seq(s"$root.keys.."),
    "record" -> Seq(s"$root.record.."),
    "physical" -> Seq(s"$root.physical..", s"$operators.."),
    "report" -> Seq(s"$root.report.."),
    "rules.hints" -> Seq(s"$root.rules.hints.."),
    "rules.guard" -> Seq(s"$root.rules.guard.."),
    "rules.subplans" -> Seq(s"$root.rules.subplans.."),
    "rules.aggregates" -> Seq(s"$root.rules.aggregates.."),
    "rules.joins" -> Seq(s"$root.rules.joins.."),
    "rules.reorder" -> Seq(s"$root.rules.reorder.."),
    "rules.conjuncts" -> Seq(s"$root.rules.conjuncts.."),
    "rules.shuffles" -> Seq(s"$root.rules.shuffles.."),
    "rules.runtimefilters" -> Seq(s"$root.rules.runtimefilters"),
    "rules.runtimefilters.connectors" -> Seq(s"$root.rules.runtimefilters.connectors.."),
    "rules.runtimefilters.plain" -> Seq(s"$root.rules.runtimefilters.plain.."),
    "rules.runtimefilters.merge" -> Seq(s"$root.rules.runtimefilters.merge.."),
    "rules.runtimefilters.place" -> Seq(s"$root.rules.runtimefilters.place.."),
    "rules.runtimefilters.resolve" -> Seq(s"$root.rules.runtimefilters.resolve.."),
    "top" -> Seq(root)
  )

  /** What a layer may use: all layers above its own line, but no report, and of the rules only what both filter rules share. */
  private def allowed(layer: String): Seq[String] = {
    val above = layers.map(_._1).takeWhile(_ != layer)
    if (layer == "top") above
    else
      above.filter(a =>
        a != "report" && !a.startsWith("rules.") ||
          shared(a) && layer.startsWith("rules.runtimefilters.")
      )
  }

  private def shared(layer: String): Boolean =
    layer == "rules.runtimefilters" || layer == "rules.runtimefilters.connectors"

  private lazy val classes: JavaClasses = {
    // Only our own classes are read.
    ArchConfiguration.get().setResolveMissingDependenciesFromClassPath(false)
    new ClassFileImporter().importUrl(
      classOf[SpringbokExtensions].getProtectionDomain.getCodeSource.getLocation
    )
  }

  test("each layer uses only those below it") {
    val declared = layers.foldLeft(layeredArchitecture().consideringOnlyDependenciesInLayers()) {
      case (a, (layer, packages)) => a.layer(layer).definedBy(packages: _*)
    }
    val directed = layers.map(_._1).foldLeft(declared) { (a, layer) =>
      val access = a.whereLayer(layer)
      if (allowed(layer).isEmpty) access.mayNotAccessAnyLayer()
      else access.mayOnlyAccessLayers(allowed(layer): _*)
    }
    directed.check(classes)
  }

  test("the planner only adds to what is decided for the report") {
    def reads(call: JavaMethodCall) =
      call.getTargetOwner.isEquivalentTo(classOf[Decisions]) && !Set("add", "failed")(call.getName)
    noClasses()
      .that()
      .resideOutsideOfPackages(s"$root.report..", s"$root.record..")
      .should()
      .callMethodWhere(DescribedPredicate.describe[JavaMethodCall]("reads decisions", reads(_)))
      .check(classes)
  }

  test("packages import each other in no circle") {
    slices().matching(s"$root.(**)").should().beFreeOfCycles().check(classes)
  }
}
