import type { KnownMessage } from '@postern/core'
import { idOf, isOnOrigin } from '../../format/document.ts'
import { inThreadOf, targetActor, tellEvent, toIntake } from '../../normalize.ts'
import type { ActivityKind, ResolvedActivity } from '../activity-kind.ts'

/** A peer withdraws a post, or its whole actor. It cannot delete what is on another host than its own. */
export const deletion: ActivityKind = {
  async find({ activity, actor }, { store }) {
    const object = idOf(activity.json.object)
    if (!object || !isOnOrigin(object, activity.actor.origin)) return undefined
    if (object === actor.id) return {}
    return { known: await store.findAuthored('activitypub', { author: actor.id, object }) }
  },
  read: resolved => firstOfEach(resolved.known).map(known => tellDeletion(resolved, known)),
  withdraw({ named: { activity, actor } }) {
    const object = idOf(activity.json.object)
    if (!object) return []
    return object === actor.id
      ? [{ kind: 'forget_peer', peer: actor.id }]
      : [{ kind: 'forget', author: actor.id, object }]
  },
}

function tellDeletion(resolved: ResolvedActivity, known: KnownMessage) {
  return toIntake(resolved, {
    agent: known.agent,
    kind: 'delete',
    parts: tellEvent('Deleted the post'),
    in_reply_to: known.object,
    ...inThreadOf(known, known.object),
    object: resolved.named.activity.id,
    target: targetActor(resolved),
  })
}

/** Each agent that received the post gets one message about its deletion. */
function firstOfEach(known: readonly KnownMessage[]): readonly KnownMessage[] {
  const given = known.filter(({ isKept }) => !isKept)
  return [...new Map(given.toReversed().map(message => [message.agent, message])).values()]
}
