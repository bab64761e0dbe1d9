import type { TestGatewayOptions } from '../gateway.ts'
import type { PostAnswer } from '../person.ts'
import type { Stage } from '../stage.ts'

/** What came of it. What is left out is not asked for. */
interface RowOutcome {
  readonly status?: number
  readonly code?: string
  /** How often an agent would be called. */
  readonly turns?: number
  /** Requests that reached anybody. */
  readonly fetches?: number
}

/** Something an attacker, or somebody honest in an odd way, sends. */
export interface RowCase {
  readonly title: string
  readonly options?: TestGatewayOptions
  readonly send: (stage: Stage) => Promise<PostAnswer>
  readonly expect: RowOutcome
  /** What must hold afterwards. */
  readonly after?: (stage: Stage, answer: PostAnswer) => Promise<void>
}

/** A row of the ActivityPub bug history. */
export interface Row {
  readonly row: string
  readonly title: string
  readonly cases?: readonly RowCase[]
  /** Further tests, as `file › title`: the file under the root of the repository, the title (of a test or its table) as written there. */
  readonly shownBy?: readonly string[]
}

export const refused = { status: 401, turns: 0 } as const
export const taken = { status: 202, turns: 1 } as const
export const withoutEffect = { status: 202, turns: 0 } as const

const tests = 'packages/activitypub/test'

/** Titles of a file in this package. */
export function titlesOf(file: string, ...titles: readonly string[]): readonly string[] {
  return titles.map(title => `${tests}/${file}.test.ts › ${title}`)
}

/** Titles of a file in `packages/http/src`. */
export function guardTitlesOf(file: string, ...titles: readonly string[]): readonly string[] {
  return titles.map(title => `packages/http/src/${file}.test.ts › ${title}`)
}
