import type { ActivityKind } from './activity-kind.ts'
import { block } from './kinds/block.ts'
import { create } from './kinds/create.ts'
import { deletion } from './kinds/delete.ts'
import { flag } from './kinds/flag.ts'
import { follow } from './kinds/follow.ts'
import { move } from './kinds/move.ts'
import { announce, emojiReact, like } from './kinds/reaction.ts'
import { undo } from './kinds/undo.ts'
import { update } from './kinds/update.ts'

/**
 * The activities that a server can send to an agent. Every other type is accepted and has no effect. Agents follow
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
