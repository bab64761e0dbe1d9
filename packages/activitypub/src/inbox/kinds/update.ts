// Handles `Update`, by which a peer edits a post or changes its actor.
import type { Json } from '@postern/message'
import type { Relation } from '@postern/pipeline'
import { isReadablePost } from '../../format/check-post.ts'
import { asObject, idOf, textOf } from '../../format/json-object.ts'
import { createEventParts, createHiddenIntakes, findAddressedAgents, toPostIntake } from '../../normalize.ts'
import type { RemoteActor } from '../../peers/actor-document.ts'
import { blamePeer } from '../../peers/signer.ts'
import type { ProvenActivity } from '../../proofs/proven-activity.ts'
import type { ActivityKind, Findings, InboxChange, InboxLookups, ResolvedActivity } from '../activity-kind.ts'

/**
 * Handles a changed actor or a changed post. Agents that received the post get an edit. An agent that only the new version
 * addresses gets the post as a new message, because the author corrected a mention. The caller has checked the origin, so the change comes from the author, on the author's own host.
 */
export const update: ActivityKind = {
  async find(proven, lookups) {
    const { activity, actor } = proven
    const { agents, store } = lookups
    const post = asObject(activity.json.object)
    const objectId = idOf(activity.json.object)
    if (objectId === actor.id) return findChangedInboxes(proven, lookups)
    if (!post || !objectId || !isReadablePost(post)) return undefined
    const messages = await store.findAuthored('activitypub', { author: actor.id, object: objectId })
    const recipients = messages.map(({ agent }) => agent)
    return {
      earlierMessages: messages,
      agents: [...new Set([...recipients, ...findAddressedAgents(activity.json, post, agents)])],
    }
  },
  toIntakes: resolved =>
    resolved.inboxChanges
      ? toInboxChangeIntakes(resolved, resolved.inboxChanges)
      : resolved.agents.map(agent =>
          toPostIntake(
            resolved,
            agent,
            resolved.earlierMessages.findLast(message => message.agent === agent),
          ),
        ),
}

/**
 * Finds the new inboxes of an actor that announces a change. Only its inboxes matter here, because a server may have moved them since the actor
 * began to follow. The current ones come from the actor's own document, not from the activity.
 * @throws Rejection `rate_limited`, Unavailable
 */
async function findChangedInboxes(
  { activity, actor }: ProvenActivity,
  { agents, actors, store, foreignInboxes }: InboxLookups,
): Promise<Findings | undefined> {
  const peerRelations = await store.listPeerRelations({ via: 'activitypub', peer: actor.id })
  const relations = peerRelations.filter(({ agent, relation }) => agents.find(agent) && isFollowing(relation))
  if (relations.length === 0) return undefined
  const refreshedActor = (await blamePeer(() => actors.refresh(activity.actor))) ?? actor
  const changedRelations = relations.filter(relation => hasChangedInboxes(relation, refreshedActor))
  if (changedRelations.length === 0 || !refreshedActor.inbox) return undefined
  foreignInboxes.countFollower(refreshedActor)
  const inboxChanges = changedRelations.map(({ agent, relation, target }) => ({
    agent,
    effect: { kind: 'relate', relation, peer: actor.id, target: replaceInboxes(refreshedActor, target) } as const,
  }))
  return { agents: [...new Set(changedRelations.map(({ agent }) => agent))], inboxChanges }
}

function isFollowing(relation: Relation['relation']): boolean {
  return relation === 'follower' || relation === 'pending'
}

function hasChangedInboxes({ target }: Relation, { inbox, sharedInbox }: RemoteActor): boolean {
  const storedTarget = asObject(target)
  return textOf(storedTarget?.inbox) !== inbox || textOf(storedTarget?.sharedInbox) !== sharedInbox
}

function replaceInboxes({ inbox = '', sharedInbox }: RemoteActor, target: Json): Json {
  const { sharedInbox: _, ...otherMembers } = (target ?? {}) as { readonly [name: string]: Json }
  return { ...otherMembers, inbox, ...(sharedInbox && { sharedInbox }) }
}

/** Reports new inboxes to the operator. The agent does not need this information. */
function toInboxChangeIntakes(resolved: ResolvedActivity, inboxChanges: readonly InboxChange[]) {
  return createHiddenIntakes(resolved, agent => ({
    kind: 'message',
    parts: createEventParts('Is reached elsewhere from now on'),
    flags: ['readdressed'],
    effects: inboxChanges.filter(change => change.agent === agent).map(({ effect }) => effect),
  }))
}
