import java.io.File

import sbt.io.IO

/** Imports that each source needs, for a Scala whose library lacks what the sources use. */
object Imports {
  private val clause = """(?m)^package \S+$""".r

  /** The sources themselves, or copies below `folder` with the line's imports beside their package clause. */
  def into(line: SparkLine, sources: Seq[File], folder: File): Seq[File] = {
    def copied(source: File): File = {
      val text = IO.read(source)
      val copy = new File(folder, s"${source.getParentFile.getPath.hashCode.toHexString}/${source.getName}")
      val imports = line.extraImports.map(i => s"; import $i").mkString
      val changed =
        clause.findFirstMatchIn(text).fold(text)(m => s"${m.before}${m.matched}$imports${m.after}")
      // An unchanged copy is not compiled again.
      if (!copy.exists || IO.read(copy) != changed) IO.write(copy, changed)
      copy
    }
    if (line.extraImports.isEmpty) sources
    else sources.map(s => if (s.getName.endsWith(".scala")) copied(s) else s)
  }
}
