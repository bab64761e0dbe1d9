import type { KnownMessage } from '@postern/core'
import { isOnOrigin } from '../iri.ts'
import { idOf } from '../reading.ts'
import type { ActivityKind, HeardActivity } from './activity-kind.ts'
import { inThreadOf, targetActor, tellEvent, toIntake } from './intake.ts'

/** A post, or its whole author, taken back. What lives on another host than the actor is not his to delete. */
export const deletion: ActivityKind = {
  async find({ activity, actor }, { desk }) {
    const object = idOf(activity.json.object)
    if (!object || !isOnOrigin(object, activity.actor.origin)) return undefined
    if (object === actor.id) return {}
    return { known: await desk.findAuthored('activitypub', { author: actor.id, object }) }
  },
  read: heard => firstOfEach(heard.known).map(known => tellDeletion(heard, known)),
  withdraw({ named: { activity, actor } }) {
    const object = idOf(activity.json.object)
    if (!object) return []
    return object === actor.id
      ? [{ kind: 'forget_peer', peer: actor.id }]
      : [{ kind: 'forget', author: actor.id, object }]
  },
}

function tellDeletion(heard: HeardActivity, known: KnownMessage) {
  return toIntake(heard, {
    agent: known.agent,
    kind: 'delete',
    parts: tellEvent('Deleted the post'),
    in_reply_to: known.object,
    ...inThreadOf(known, known.object),
    object: heard.named.activity.id,
    target: targetActor(heard),
  })
}

/** Agents are told once, of what they were given. */
function firstOfEach(known: readonly KnownMessage[]): readonly KnownMessage[] {
  const given = known.filter(({ isKept }) => !isKept)
  return [...new Map(given.toReversed().map(message => [message.agent, message])).values()]
}
