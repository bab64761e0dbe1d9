/** A row of the mail bug history (docs/conformance/email.md): what arrives, and the tests that show what becomes of it. */
export interface EmailRow {
  readonly row: string
  readonly title: string
  /** `file › title`: the file under the root of the repository; the title of a test, of its table or of a line in the table, as written there. */
  readonly shownBy: readonly string[]
}

/** Titles of a test file in this package, named from its folder. */
export function titlesOf(file: string, ...titles: readonly string[]): readonly string[] {
  return titles.map(title => `packages/email/${file}.test.ts › ${title}`)
}
