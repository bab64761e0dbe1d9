import { agentFlag } from '../loop-limits.ts'

/** A message that its author proves, but somebody else may have brought here, or brought again: its proof does not say to whom and when it was written. */
export const replayFlag = 'may_be_replayed'

/** By the flags of a message, whether it may be a person's word. */
export function isPersonal(flags: readonly string[]): boolean {
  return !flags.some(flag => impersonal.has(flag))
}

/** What came by a list, from a program, from one of our own agents or may be somebody's copy is no person's word. */
const impersonal: ReadonlySet<string> = new Set([
  ...[agentFlag, replayFlag, 'by_list', 'list', 'bulk', 'auto_reply', 'sibling'],
])
