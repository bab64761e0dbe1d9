import { isReadable } from '../../format/activity.ts'
import { asObject, idOf } from '../../format/reading.ts'
import type { ActivityKind } from '../activity-kind.ts'
import { findAddressed, readPost } from './post.ts'

/** A post, to each agent it is addressed to or mentions. A second `Create` of a post is none: it cannot widen it (CVE-2024-37903). */
export const create: ActivityKind = {
  async find({ activity, actor }, { agents, store, fetchCreatedPost }) {
    const embedded = asObject(activity.json.object)
    // A post that is only named is worth a fetch when it is for an agent of this gateway.
    const isNamedHere = !embedded && findAddressed(activity.json, {}, agents).length > 0
    const createdPost = isNamedHere ? await fetchCreatedPost(activity) : undefined
    const post = createdPost ?? (isReadable(activity) ? embedded : undefined)
    const object = idOf(post)
    if (!post || !object) return undefined
    const addressed = findAddressed(activity.json, post, agents)
    if (addressed.length === 0) return undefined
    const known = await store.findAuthored('activitypub', { author: actor.id, object })
    const told = known.filter(({ id }) => id !== activity.id).map(({ agent }) => agent)
    return { agents: addressed.filter(name => !told.includes(name)), createdPost }
  },
  read: resolved => resolved.agents.map(agent => readPost(resolved, agent)),
}
