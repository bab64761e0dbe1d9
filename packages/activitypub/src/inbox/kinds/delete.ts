// Handles `Delete`, by which a peer withdraws a post or its whole actor.
import type { AuthoredMessage } from '@postern/pipeline'
import { isOnOrigin } from '../../format/iri.ts'
import { idOf } from '../../format/json-object.ts'
import { createActorTarget, createEventParts, joinThread, toIntake } from '../../normalize.ts'
import type { ActivityKind, ResolvedActivity } from '../activity-kind.ts'

/** Handles a deletion. A peer cannot delete objects on another host than its own. */
export const deletion: ActivityKind = {
  async find({ activity, actor }, { store }) {
    const object = idOf(activity.json.object)
    if (!object || !isOnOrigin(object, activity.actor.origin)) return undefined
    if (object === actor.id) return {}
    return { earlierMessages: await store.findAuthored('activitypub', { author: actor.id, object }) }
  },
  toIntakes: resolved =>
    listFirstMessages(resolved.earlierMessages).map(message => toDeletionIntake(resolved, message)),
  listWithdrawals({ proven: { activity, actor } }) {
    const object = idOf(activity.json.object)
    if (!object) return []
    return object === actor.id
      ? [{ kind: 'forget_peer', peer: actor.id }]
      : [{ kind: 'forget', author: actor.id, object }]
  },
}

function toDeletionIntake(resolved: ResolvedActivity, message: AuthoredMessage) {
  return toIntake(resolved, {
    agent: message.agent,
    kind: 'delete',
    parts: createEventParts('Deleted the post'),
    in_reply_to: message.object,
    ...joinThread(message, message.object),
    object: resolved.proven.activity.id,
    target: createActorTarget(resolved),
  })
}

/** Returns one stored message for each agent that received the post, so that each agent is told of the deletion once. */
function listFirstMessages(messages: readonly AuthoredMessage[]): readonly AuthoredMessage[] {
  const receivedMessages = messages.filter(({ isKept }) => !isKept)
  return [...new Map(receivedMessages.toReversed().map(message => [message.agent, message])).values()]
}
