import type { KnownMessage } from '@postern/core'
import { isReadable } from '../../format/activity.ts'
import { asObject, idOf } from '../../format/reading.ts'
import type { ActivityKind } from '../activity-kind.ts'
import { findReaddressed, tellReaddressed } from '../readdress.ts'
import { findAddressed, readPost } from './post.ts'

/**
 * A changed actor, or a changed post. Agents that received the post get an edit. Agents that it addresses only now get
 * a message (the author corrected a mention). The origin check has already passed: its own author, on its own host.
 */
export const update: ActivityKind = {
  async find(proven, lookups) {
    const { activity, actor } = proven
    const { agents, store } = lookups
    const post = asObject(activity.json.object)
    const object = idOf(activity.json.object)
    if (object === actor.id) return findReaddressed(proven, lookups)
    if (!post || !object || !isReadable(activity)) return undefined
    const known = await store.findAuthored('activitypub', { author: actor.id, object })
    const told = known.map(({ agent }) => agent)
    return { known, agents: [...new Set([...told, ...findAddressed(activity.json, post, agents)])] }
  },
  read: resolved =>
    resolved.readdressed
      ? tellReaddressed(resolved, resolved.readdressed)
      : resolved.agents.map(agent => readPost(resolved, agent, lastToldTo(agent, resolved.known))),
}

function lastToldTo(agent: string, known: readonly KnownMessage[]): KnownMessage | undefined {
  return known.findLast(message => message.agent === agent)
}
