import type { NormalizedResponse } from '@postern/core'

/** What a chat shows of an agent beside its text. */
export type ChatState = NonNullable<NormalizedResponse['chat_state']>

/** RFC 6902 */
type StateChange =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: ChatState[string] }
  | { readonly op: 'remove'; readonly path: string }

/** The changes that turn `before` into `after`, member by member. Empty when nothing changed. */
export function diffState(before: ChatState, after: ChatState): readonly StateChange[] {
  const gone = Object.keys(before).filter(name => !Object.hasOwn(after, name))
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value),
  )
  return [
    ...gone.map(name => ({ op: 'remove', path: pointTo(name) }) as const),
    ...changed.map(([name, value]) => {
      return { op: Object.hasOwn(before, name) ? 'replace' : 'add', path: pointTo(name), value } as const
    }),
  ]
}

/** RFC 6901 §3 */
function pointTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
