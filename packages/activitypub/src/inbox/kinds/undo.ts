// Handles `Undo`, by which an actor reverses an earlier activity such as a follow, a like or a block.
import type { AuthoredMessage, Intake, RelationEffect, RelationKind } from '@postern/pipeline'
import { isOnOrigin } from '../../format/iri.ts'
import { asObject, idOf, onlyOf, typeOf } from '../../format/json-object.ts'
import { findAgentName } from '../../format/own-iris.ts'
import { readReplyTarget } from '../../format/targets.ts'
import { createActorTarget, createEventParts, draftEvent, joinThread, toIntake } from '../../normalize.ts'
import type { ProvenActivity } from '../../proofs/proven-activity.ts'
import type { ActivityKind, Findings, InboxLookups, ResolvedActivity } from '../activity-kind.ts'
import { planRelationEnd } from './follow.ts'

/** Handles the reversal of an earlier activity toward an agent, which is embedded or named by its id. Only stored activities can be undone. */
export const undo: ActivityKind = {
  async find(proven, lookups) {
    const undoneActivity = readUndoneActivity(proven)
    if (!undoneActivity) return undefined
    return (
      (await findById(undoneActivity.id, proven, lookups)) ?? (await findByRelation(undoneActivity, proven, lookups))
    )
  },
  toIntakes(resolved) {
    const { agents, earlierMessages, undoneType: undone } = resolved
    const toUndoIntake = undone && undoIntakesByType.get(undone)
    if (!toUndoIntake) return []
    return agents.map(agent =>
      toUndoIntake(
        resolved,
        agent,
        earlierMessages.find(message => message.agent === agent),
      ),
    )
  },
}

/** Reads the activity to undo, which must be by the same actor (CVE-2025-30741). `type` is known only if the activity is embedded. */
function readUndoneActivity({ activity, actor }: ProvenActivity) {
  const embedded = asObject(activity.json.object)
  const id = idOf(activity.json.object)
  const isByActor = embedded?.actor === undefined || idOf(onlyOf(embedded.actor)) === actor.id
  if (!isByActor || (id && !isOnOrigin(id, activity.actor.origin))) return undefined
  return { id, type: typeOf(embedded), object: idOf(embedded?.object) }
}

async function findById(
  id: string | undefined,
  { actor }: ProvenActivity,
  { store }: InboxLookups,
): Promise<Findings | undefined> {
  const messages = id ? await store.findAuthored('activitypub', { author: actor.id, object: id }) : []
  const undoneType = messages[0] && readReplyTarget(messages[0].target).event
  return undoneType
    ? { earlierMessages: messages, undoneType, agents: [...new Set(messages.map(({ agent }) => agent))] }
    : undefined
}

/** Finds the earlier activity by the relation that it created, because some servers forget its id but still describe it. */
async function findByRelation(
  { type, object }: NonNullable<ReturnType<typeof readUndoneActivity>>,
  { actor }: ProvenActivity,
  { agents, store }: InboxLookups,
): Promise<Findings | undefined> {
  const agent = findAgentName(object ?? '', agents)
  if (!type || !agent) return undefined
  const key = { via: 'activitypub', agent, peer: actor.id } as const
  const relations = await Promise.all(
    (relationsByType.get(type) ?? []).map(relation => store.findRelation({ ...key, relation })),
  )
  return relations.some(Boolean) ? { agents: [agent], undoneType: type } : undefined
}

const relationsByType: ReadonlyMap<string, readonly RelationKind[]> = new Map([
  ['Follow', ['follower', 'pending']],
  ['Block', ['blocked_by']],
])

type ToUndoIntake = (resolved: ResolvedActivity, agent: string, earlierMessage: AuthoredMessage | undefined) => Intake

const undoIntakesByType: ReadonlyMap<string, ToUndoIntake> = new Map([
  ['Follow', toUnfollowIntake],
  ['Block', toUnblockIntake],
  ['Like', toReactionRemovalIntake],
  ['EmojiReact', toReactionRemovalIntake],
  ['Announce', toReactionRemovalIntake],
])

function toUnfollowIntake(
  resolved: ResolvedActivity,
  agent: string,
  earlierMessage: AuthoredMessage | undefined,
): Intake {
  return toIntake(resolved, {
    ...draftEvent(resolved, agent),
    kind: 'unfollow',
    parts: createEventParts('No longer follows you'),
    effects: [
      planRelationEnd(resolved, 'follower'),
      planRelationEnd(resolved, 'pending'),
      ...planReopening(earlierMessage),
    ],
    ...(earlierMessage?.isKept && { disposition: 'keep' }),
  })
}

function toUnblockIntake(
  resolved: ResolvedActivity,
  agent: string,
  earlierMessage: AuthoredMessage | undefined,
): Intake {
  return toIntake(resolved, {
    ...draftEvent(resolved, agent),
    kind: 'message',
    parts: createEventParts('Lifts the block'),
    disposition: 'keep',
    flags: ['unblocked'],
    effects: [
      { kind: 'unrelate', relation: 'blocked_by', peer: resolved.proven.actor.id },
      ...planReopening(earlierMessage),
    ],
  })
}

function toReactionRemovalIntake(
  resolved: ResolvedActivity,
  agent: string,
  earlierMessage: AuthoredMessage | undefined,
): Intake {
  const post = earlierMessage && readReplyTarget(earlierMessage.target).object
  return toIntake(resolved, {
    ...draftEvent(resolved, agent),
    kind: 'reaction',
    parts: createEventParts('Took back the reaction', post ? { url: post, title: 'Post' } : undefined),
    ...(earlierMessage && post && { in_reply_to: post, ...joinThread(earlierMessage, post) }),
    target: createActorTarget(resolved, post),
    effects: planReopening(earlierMessage),
  })
}

/** Allows the id of the undone activity to be used again, because some servers repeat an activity under the same id (Misskey's follows). */
function planReopening(earlierMessage: AuthoredMessage | undefined): readonly RelationEffect[] {
  return earlierMessage ? [{ kind: 'reopen', author: earlierMessage.author, object: earlierMessage.object }] : []
}
