/** Where a rule stands: from the guide, a page of the specification, or the published connector kit. */
export type Mark = 'G' | 'P' | 'CK'

/** A rule of Mentionable in our own words; docs/conformance/identity.md lists the groups. */
interface SpecRow {
  /** The group, and the rule's place in it: `MN-1.2/3`. */
  readonly id: string
  readonly mark: Mark
  readonly rule: string
  /** Tests, as `file › title`: the file under the root of the repository; the title of a test, a group, or a row of a table, as written there. */
  readonly shownBy?: readonly string[]
  /** Why it is not ours to keep: optional, or planned upstream only. */
  readonly leftOut?: string
}

/** Rules that wait for somebody to build them: rows without a test have to be named here. */
export const pendingRows: readonly string[] = []

/** False: none may be pending any more. */
export const mayBePending = false

const titlesIn =
  (folder: string) =>
  (file: string, ...titles: readonly string[]): readonly string[] =>
    titles.map(title => `${folder}/${file}.test.ts › ${title}`)

export const core = titlesIn('packages/core/src')
export const gateway = titlesIn('apps/gateway/test')
export const discovery = titlesIn('apps/gateway/src/discovery')
export const a2a = titlesIn('packages/a2a')
export const identity = titlesIn('packages/identity')

/** The numbered rules of one group. */
export function section(
  name: string,
  ...rules: readonly (readonly [mark: Mark, rule: string, shown: readonly string[] | { readonly leftOut: string }])[]
): readonly SpecRow[] {
  return rules.map(([mark, rule, shown], at) => ({
    id: `${name}/${at + 1}`,
    mark,
    rule,
    ...('leftOut' in shown ? shown : { shownBy: shown }),
  }))
}
