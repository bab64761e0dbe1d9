// Computes the changes of a chat's state as a JSON Patch (RFC 6902).
import type { NormalizedResponse } from '@postern/message'

/** The state of an agent that a chat shows next to its text. */
export type ChatState = NonNullable<NormalizedResponse['chat_state']>

/** A change in the form of RFC 6902. */
type StateChange =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: ChatState[string] }
  | { readonly op: 'remove'; readonly path: string }

/** Returns the changes that turn `previousState` into `nextState`, member by member, or an empty list if nothing changed. */
export function diffState(previousState: ChatState, nextState: ChatState): readonly StateChange[] {
  const removedNames = Object.keys(previousState).filter(name => !Object.hasOwn(nextState, name))
  const changedEntries = Object.entries(nextState).filter(
    ([name, value]) => JSON.stringify(previousState[name]) !== JSON.stringify(value),
  )
  return [
    ...removedNames.map(name => ({ op: 'remove', path: formatJsonPointer(name) }) as const),
    ...changedEntries.map(([name, value]) => {
      return {
        op: Object.hasOwn(previousState, name) ? 'replace' : 'add',
        path: formatJsonPointer(name),
        value,
      } as const
    }),
  ]
}

/** Escapes a name as a JSON Pointer (RFC 6901 §3). */
function formatJsonPointer(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
