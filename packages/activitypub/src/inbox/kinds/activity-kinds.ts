// Maps the activity types that an inbox handles to their handlers.
import { create } from '../../normalize.ts'
import type { ActivityKind } from '../activity-kind.ts'
import { block } from './block.ts'
import { deletion } from './delete.ts'
import { flag } from './flag.ts'
import { follow } from './follow.ts'
import { move } from './move.ts'
import { announce, emojiReact, like } from './reaction.ts'
import { undo } from './undo.ts'
import { update } from './update.ts'

/**
 * The types of activities that have an effect when a server sends them to an agent. Every other type is accepted and has no effect. Agents follow
 * nobody, so an `Accept` or `Reject` answers nothing, and foreign collections may change at will.
 */
export const activityKinds: ReadonlyMap<string, ActivityKind> = new Map([
  ['Create', create],
  ['Update', update],
  ['Delete', deletion],
  ['Like', like],
  ['EmojiReact', emojiReact],
  ['Announce', announce],
  ['Follow', follow],
  ['Undo', undo],
  ['Block', block],
  ['Flag', flag],
  ['Move', move],
])
