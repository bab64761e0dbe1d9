// Computes the changes of a chat's state as a JSON Patch (RFC 6902).
import type { NormalizedResponse } from '@postern/message'

/** The state of an agent that a chat shows next to its text. */
export type ChatState = NonNullable<NormalizedResponse['chat_state']>

/** A change in the form of RFC 6902. */
type StateChange =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: ChatState[string] }
  | { readonly op: 'remove'; readonly path: string }

/** Returns the changes that turn `before` into `after`, member by member. It returns none if nothing changed. */
export function diffState(before: ChatState, after: ChatState): readonly StateChange[] {
  const removedNames = Object.keys(before).filter(name => !Object.hasOwn(after, name))
  const changedEntries = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value),
  )
  return [
    ...removedNames.map(name => ({ op: 'remove', path: pointTo(name) }) as const),
    ...changedEntries.map(([name, value]) => {
      return { op: Object.hasOwn(before, name) ? 'replace' : 'add', path: pointTo(name), value } as const
    }),
  ]
}

/** Escapes a name as a JSON Pointer (RFC 6901 §3). */
function pointTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
