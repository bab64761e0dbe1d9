// Handles `Move`, by which an actor continues under another account.
import { Undeliverable } from '@postern/message'
import type { Relation, RelationEffect } from '@postern/pipeline'
import { parseIri } from '../../format/iri.ts'
import { idOf } from '../../format/json-object.ts'
import { createEventParts, createHiddenIntakes } from '../../normalize.ts'
import type { RemoteActor } from '../../peers/actor-document.ts'
import { ignoreFaults } from '../../peers/peer-faults.ts'
import type { ActivityKind, InboxLookups } from '../activity-kind.ts'

/**
 * Handles the move of an actor to another account that claims this one (`alsoKnownAs`). The operator sees the move, and a block of an agent
 * moves along. A follow does not move along, because the new account follows an agent by its own `Follow`.
 */
export const move: ActivityKind = {
  async find({ activity, actor }, lookups) {
    if (idOf(activity.json.object) !== actor.id) return undefined
    const relatedAgents = await findRelatedAgents(actor.id, lookups)
    if (relatedAgents.agents.length === 0) return undefined
    const target = await findTarget(idOf(activity.json.target), actor.id, lookups)
    return target && { ...relatedAgents, movedTo: target.id }
  },
  toIntakes: resolved =>
    createHiddenIntakes(resolved, agent => ({
      kind: 'message',
      parts: createEventParts('Goes on under another account', { url: resolved.movedTo ?? '', title: 'New account' }),
      flags: ['moved'],
      effects: planBlockTransfer(resolved, agent),
    })),
}

function planBlockTransfer(
  { blockedAgents = [], movedTo }: { readonly blockedAgents?: readonly string[]; readonly movedTo?: string },
  agent: string,
): readonly RelationEffect[] {
  if (!movedTo || !blockedAgents.includes(agent)) return []
  return [{ kind: 'relate', relation: 'blocked_by', peer: movedTo, target: null }]
}

async function findRelatedAgents(peer: string, { agents, store }: InboxLookups) {
  const relations = await store.listPeerRelations({ via: 'activitypub', peer })
  const listAgentsWith = (wantedRelation: Relation['relation']) =>
    relations
      .filter(({ agent, relation }) => relation === wantedRelation && agents.find(agent))
      .map(({ agent }) => agent)
  const blockedAgents = listAgentsWith('blocked_by')
  return { agents: [...new Set([...listAgentsWith('follower'), ...blockedAgents])], blockedAgents }
}

/**
 * Finds the new account, if its own document claims the old one. The document is fetched again, because the claim may be recent.
 * @throws Rejection, Unavailable
 */
async function findTarget(
  targetId: string | undefined,
  oldActorId: string,
  { actors }: InboxLookups,
): Promise<RemoteActor | undefined> {
  if (targetId === undefined) return undefined
  const iri = parseIri(targetId, 'the new account')
  // The sender is not at fault if the new account's host does not show the account or is blocked.
  const actor = await ignoreFaults([Undeliverable], () => actors.find(iri))
  if (!actor || actor.aliases.has(oldActorId)) return actor
  const refreshedActor = await ignoreFaults([Undeliverable], () => actors.refresh(iri))
  return refreshedActor?.aliases.has(oldActorId) ? refreshedActor : undefined
}
