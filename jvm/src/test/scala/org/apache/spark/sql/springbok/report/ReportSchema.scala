package org.apache.spark.sql.springbok.report

import scala.reflect.runtime.universe._

import org.apache.spark.sql.springbok.report.model._
import org.json4s.{JArray, JField, JObject, JString, JValue}
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.{pretty, render}

/** `docs/report.schema.json`, made of the report's classes: their names, types and annotations. */
object ReportSchema {

  def text: String = {
    val root = typeOf[QueryReport]
    val head = ("$schema" -> "https://json-schema.org/draft/2020-12/schema") ~
      ("title" -> "Springbok strategy report")
    val defs = JObject(parts(root).tail.map(t => JField(name(t), described(t))).toList)
    pretty(render(JObject(head.obj ++ described(root).obj ++ List(JField("$defs", defs))))) + "\n"
  }

  /** A class and those that its fields have. */
  private def parts(t: Type): Seq[Type] = {
    def below(t: Type): Seq[Type] =
      t +: fields(t).flatMap(f => elements(f.info)).filter(isPart).flatMap(below)
    below(t).distinctBy(_.typeSymbol.fullName)
  }

  private def elements(t: Type): Seq[Type] = if (t.typeArgs.isEmpty) Seq(t) else t.typeArgs.flatMap(elements)

  private def isPart(t: Type): Boolean =
    t.typeSymbol.owner.fullName == typeOf[QueryReport].typeSymbol.owner.fullName

  private def fields(t: Type): Seq[Symbol] = t.decl(termNames.CONSTRUCTOR).asMethod.paramLists.head

  private def described(t: Type): JObject = {
    val required =
      fields(t).filterNot(_.info <:< typeOf[Option[Any]]).map(f => snake(f.name.decodedName.toString))
    val properties =
      fields(t).map(f => JField(snake(f.name.decodedName.toString), property(f.info, annotations(f))))
    val description = annotations(t.typeSymbol).get("describe").map("description" -> _.head)
    JObject(description.map { case (k, v) => JField(k, v) }.toList) ~
      ("type" -> "object") ~
      ("properties" -> JObject(properties.toList)) ~
      ("required" -> required) ~
      ("additionalProperties" -> false)
  }

  private def property(t: Type, notes: Map[String, Seq[JValue]]): JObject = {
    val plain = t.dealias
    if (plain <:< typeOf[Option[Any]]) property(plain.typeArgs.head, notes)
    else if (isPart(plain)) "$ref" -> s"#/$$defs/${name(plain)}"
    else if (plain <:< typeOf[Map[String, Any]]) map(plain.typeArgs(1), notes)
    else if (plain <:< typeOf[Seq[Any]])
      ("type" -> "array") ~ ("items" -> property(plain.typeArgs.head, Map.empty))
    else if (plain =:= typeOf[Boolean]) "type" -> "boolean"
    else if (plain =:= typeOf[String]) text(notes)
    else number(if (plain =:= typeOf[Double]) "number" else "integer", notes)
  }

  private def map(values: Type, notes: Map[String, Seq[JValue]]): JObject = {
    val keys = notes.get("keysOf").map(ks => "enum" -> JArray(ks.toList))
    val content = Option.unless(values =:= typeOf[Any])(property(values, Map.empty))
    ("type" -> "object") ~ ("propertyNames" -> keys.map(JObject(_))) ~ ("additionalProperties" -> content)
  }

  private def text(notes: Map[String, Seq[JValue]]): JObject =
    ("type" -> "string") ~
      ("enum" -> notes.get("oneOf").map(v => JArray(v.toList))) ~
      ("pattern" -> notes.get("matching").map(_.head))

  private def number(kind: String, notes: Map[String, Seq[JValue]]): JObject =
    notes
      .get("exactly")
      .map(_.head)
      .fold {
        ("type" -> kind) ~
          ("minimum" -> notes.get("atLeast").fold[JValue](0)(_.head)) ~
          ("maximum" -> notes.get("atMost").map(_.head))
      }(v => "const" -> v)

  /** The arguments of a symbol's annotations, by the annotation's name. */
  private def annotations(s: Symbol): Map[String, Seq[JValue]] = {
    s.info: Unit
    s.annotations.map { a =>
      val arguments = a.tree.children.tail.collect {
        case Literal(Constant(v: String)) => JString(v)
        case Literal(Constant(v: Int)) => v: JValue
      }
      a.tree.tpe.typeSymbol.name.toString -> arguments
    }.toMap
  }

  private def name(t: Type): String = snake(t.typeSymbol.name.toString.stripSuffix("Entry"))

  private def snake(name: String): String =
    "[A-Z]".r.replaceAllIn(name, m => (if (m.start == 0) "" else "_") + m.matched.toLowerCase)
}
