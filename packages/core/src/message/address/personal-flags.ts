import { agentFlag } from '../loop-limits.ts'

/**
 * A message that its author proves, but that another party may have brought or repeated: the proof does not cover its
 * recipient and time.
 */
export const replayFlag = 'may_be_replayed'

/** By the flags of a message, whether it may be a person's word. */
export function isPersonal(flags: readonly string[]): boolean {
  return !flags.some(flag => impersonal.has(flag))
}

/** A message by a list, from a program or a local agent, or a possible copy, is not a person's own word. */
const impersonal: ReadonlySet<string> = new Set([
  ...[agentFlag, replayFlag, 'by_list', 'list', 'bulk', 'auto_reply', 'sibling'],
])
