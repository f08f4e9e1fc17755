import java.io.ByteArrayInputStream
import java.nio.file.Files

import org.objectweb.asm.ClassReader
import sbt._

/**
 * What the compiled classes use of Spark and of the libraries that come with it, for the check at start (`MemberCheck`): a line
 * with each class, below it an indented line for each of its members.
 */
object Members {
  private val checked = Seq("org/apache/spark/", "org/apache/parquet/")
  private val own = Seq("org/apache/spark/sql/springbok/", "org/apache/spark/sql/execution/springbok/")
  // Tags of the constant pool, from the specification of the Java virtual machine.
  private val (classTag, fieldTag, methodTags) = (7, 9, Set(10, 11))

  /** The list, of a folder of classes. */
  def of(classes: File): String = {
    val files = (classes ** "*.class").get
    val defined = files
      .map(f => classes.toPath.relativize(f.toPath).toString.replace('\\', '/').stripSuffix(".class"))
      .toSet
    val used = files.flatMap(f => references(Files.readAllBytes(f.toPath))).filter { case (owner, _) =>
      checked.exists(c => owner.startsWith(c)) && !own.exists(o => owner.startsWith(o)) && !defined(owner)
    }
    used
      .groupBy(_._1)
      .toSeq
      .sortBy(_._1)
      .map { case (owner, all) =>
        (owner +: all.flatMap(_._2).distinct.sorted.map(" " + _)).mkString("", "\n", "\n")
      }
      .mkString
  }

  /** Classes, and classes with a member, that the constant pool of a class names. */
  private def references(bytes: Array[Byte]): Seq[(String, Option[String])] = {
    val reader = new ClassReader(new ByteArrayInputStream(bytes))
    val buffer = new Array[Char](reader.getMaxStringLength)
    (1 until reader.getItemCount).map(reader.getItem).filter(_ > 0).flatMap { at =>
      val tag = reader.readByte(at - 1)
      if (tag == classTag) Seq(reader.readUTF8(at, buffer) -> None).filterNot(_._1.startsWith("["))
      else if (tag == fieldTag || methodTags(tag)) {
        val named = reader.getItem(reader.readUnsignedShort(at + 2))
        val (name, kind) = (reader.readUTF8(named, buffer), reader.readUTF8(named + 2, buffer))
        Seq(reader.readClass(at, buffer) -> Some(if (tag == fieldTag) s"$name $kind" else s"$name$kind"))
      } else Nil
    }
  }
}
