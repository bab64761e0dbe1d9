import type { ActivityKind } from './activity-kind.ts'
import { block } from './block.ts'
import { create } from './create.ts'
import { deletion } from './delete.ts'
import { flag } from './flag.ts'
import { follow } from './follow.ts'
import { move } from './move.ts'
import { announce, emojiReact, like } from './reaction.ts'
import { undo } from './undo.ts'
import { update } from './update.ts'

/**
 * What a server can say to an agent. Every other type is taken and does nothing: we follow nobody, so an `Accept` or `Reject`
 * answers nothing of ours, and collections that are not ours may be added to at will.
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
