// Handles `Update`, by which a peer edits a post or changes its actor.
import type { Json } from '@postern/message'
import type { Relation } from '@postern/pipeline'
import { isReadablePost } from '../../format/check-post.ts'
import { asObject, idOf, textOf } from '../../format/json-object.ts'
import { eventParts, findAddressed, keepForAgents, readPost } from '../../normalize.ts'
import type { RemoteActor } from '../../peers/actor-document.ts'
import { toPeerFault } from '../../peers/signer.ts'
import type { ProvenActivity } from '../../proofs/proven-activity.ts'
import type { ActivityKind, Findings, Lookups, Readdressed, ResolvedActivity } from '../activity-kind.ts'

/**
 * Handles a changed actor or a changed post. Agents that received the post get an edit. Agents that only the new version addresses get a message,
 * because the author corrected a mention. The origin check has passed before: the change is by the author, on the author's own host.
 */
export const update: ActivityKind = {
  async find(proven, lookups) {
    const { activity, actor } = proven
    const { agents, store } = lookups
    const post = asObject(activity.json.object)
    const object = idOf(activity.json.object)
    if (object === actor.id) return findReaddressed(proven, lookups)
    if (!post || !object || !isReadablePost(post)) return undefined
    const messages = await store.findAuthored('activitypub', { author: actor.id, object })
    const told = messages.map(({ agent }) => agent)
    return { earlierMessages: messages, agents: [...new Set([...told, ...findAddressed(activity.json, post, agents)])] }
  },
  read: resolved =>
    resolved.readdressed
      ? tellReaddressed(resolved, resolved.readdressed)
      : resolved.agents.map(agent =>
          readPost(
            resolved,
            agent,
            resolved.earlierMessages.findLast(told => told.agent === agent),
          ),
        ),
}

/**
 * Finds the new inboxes of an actor that announces a change. Only its inboxes matter here, because a server may have moved them since the actor
 * began to follow. The current ones come from the actor's own document, not from the activity.
 * @throws Rejection `rate_limited`, Unavailable
 */
async function findReaddressed(
  { activity, actor }: ProvenActivity,
  { agents, actors, store, foreignInboxes }: Lookups,
): Promise<Findings | undefined> {
  const related = await store.listPeerRelations({ via: 'activitypub', peer: actor.id })
  const relations = related.filter(({ agent, relation }) => agents.find(agent) && isFollowing(relation))
  if (relations.length === 0) return undefined
  const fresh = (await toPeerFault(() => actors.refresh(activity.actor))) ?? actor
  const moved = relations.filter(relation => isElsewhere(relation, fresh))
  if (moved.length === 0 || !fresh.inbox) return undefined
  foreignInboxes.admitFollower(fresh)
  const readdressed = moved.map(({ agent, relation, target }) => ({
    agent,
    effect: { kind: 'relate', relation, peer: actor.id, target: addressTo(fresh, target) } as const,
  }))
  return { agents: [...new Set(moved.map(({ agent }) => agent))], readdressed }
}

function isFollowing(relation: Relation['relation']): boolean {
  return relation === 'follower' || relation === 'pending'
}

function isElsewhere({ target }: Relation, { inbox, sharedInbox }: RemoteActor): boolean {
  const kept = asObject(target)
  return textOf(kept?.inbox) !== inbox || textOf(kept?.sharedInbox) !== sharedInbox
}

function addressTo({ inbox = '', sharedInbox }: RemoteActor, target: Json): Json {
  const { sharedInbox: _, ...kept } = (target ?? {}) as { readonly [name: string]: Json }
  return { ...kept, inbox, ...(sharedInbox && { sharedInbox }) }
}

/** Tells the operator about new inboxes. The agent has nothing to do with them. */
function tellReaddressed(resolved: ResolvedActivity, readdressed: readonly Readdressed[]) {
  return keepForAgents(resolved, agent => ({
    kind: 'message',
    parts: eventParts('Is reached elsewhere from now on'),
    flags: ['readdressed'],
    effects: readdressed.filter(each => each.agent === agent).map(({ effect }) => effect),
  }))
}
