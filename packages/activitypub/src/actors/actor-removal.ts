// Announces the end of an actor whose agent has left the configuration.
import type { Json, System } from '@postern/message'
import { isoTime, randomHex } from '@postern/message'
import type {
  AgentDirectory,
  ChannelActions,
  LookupStore,
  PlannedDelivery,
  RelationStore,
  WorkStore,
} from '@postern/pipeline'
import { createSyntheticMessage } from '@postern/pipeline'
import { agentIris } from '../format/own-iris.ts'
import type { FollowerTarget } from '../format/post-data.ts'
import { readReplyTarget, toStoredJson } from '../format/targets.ts'
import { activityStreams, publicCollection } from '../format/vocabulary.ts'
import { activityPubDescriptor } from '../speaker.ts'

export interface ActorRemovalDeps {
  readonly agents: Pick<AgentDirectory, 'origin' | 'domain'>
  readonly store: Pick<WorkStore, 'storeActions'> &
    Pick<RelationStore, 'listRelations'> &
    Pick<LookupStore, 'listResponses'>
  readonly system: Pick<System, 'now' | 'randomBytes'>
  isFormerAgent(name: string): Promise<boolean>
}

/** The number of peers that one query reads. */
const pageSize = 200
/** The most answers that are searched for people who have written to the agent, newest first. */
const maxAnswers = 10_000
/** The number of deliveries that one transaction queues. */
const batchSize = 200

/**
 * Creates the function that notifies the followers of a former agent, and the people whom it has answered, of the deletion of its actor
 * (ActivityPub §6.4). Each inbox gets one notice, and a server with a shared inbox gets it there. The promise resolves once the notices are stored.
 * An agent that never had keys is unknown to peers, so the function notifies nobody.
 */
export function createActorRemoval(deps: ActorRemovalDeps): NonNullable<ChannelActions['announceRemoval']> {
  const { agents, store, system } = deps
  return async function announceRemoval(name) {
    if (!(await deps.isFormerAgent(name))) return
    const deletedAt = isoTime(system.now())
    const handshake = renderActorDelete(agentIris(agents.origin, name).actor, deletedAt)
    const inboxes = await listInboxes(name, store)
    for (let offset = 0; offset < inboxes.length; offset += batchSize) {
      const id = `delete:${randomHex(system, 16)}`
      const origin = {
        id,
        agent: name,
        address: `@${name}@${agents.domain}`,
        channel: activityPubDescriptor,
        threadSource: id,
      }
      const syntheticMessage = createSyntheticMessage({ ...origin, scope: id, at: deletedAt, flag: 'actor_delete' })
      const deliveries = inboxes
        .slice(offset, offset + batchSize)
        .map((inbox): PlannedDelivery => ({ to: inbox, target: toStoredJson({ handshake, inbox, isFarewell: true }) }))
      await store.storeActions([{ kind: 'tell', syntheticMessage, deliveryPlan: { deliveries } }], randomHex(system, 8))
    }
  }
}

interface PeerInboxes {
  readonly inbox?: string | undefined
  readonly sharedInbox?: string | undefined
}

/** Lists each inbox once: those of followers, of peers that have asked to follow, and of people whom the agent has answered. */
async function listInboxes(agent: string, store: ActorRemovalDeps['store']): Promise<readonly string[]> {
  const inboxes = new Set<string>()
  for await (const { inbox, sharedInbox } of readPeers(agent, store)) {
    const address = sharedInbox ?? inbox
    if (address) inboxes.add(address)
  }
  return [...inboxes]
}

async function* readPeers(agent: string, store: ActorRemovalDeps['store']): AsyncGenerator<PeerInboxes> {
  yield* readRelatedPeers({ agent, relation: 'follower' }, store)
  yield* readRelatedPeers({ agent, relation: 'pending' }, store)
  let cursor: number | undefined
  for (let count = 0; count < maxAnswers; count += pageSize) {
    const page = { limit: pageSize, ...(cursor !== undefined && { after: cursor }) }
    const answers = await store.listResponses({ agent, via: 'activitypub', ...page })
    for (const { target } of answers) if (target !== null) yield readReplyTarget(target)
    cursor = answers.at(-1)?.position
    if (answers.length < pageSize) return
  }
}

async function* readRelatedPeers(
  filter: { readonly agent: string; readonly relation: 'follower' | 'pending' },
  store: Pick<RelationStore, 'listRelations'>,
): AsyncGenerator<PeerInboxes> {
  let cursor = 0
  for (;;) {
    const page = await store.listRelations({ via: 'activitypub', ...filter, limit: pageSize, after: cursor })
    for (const { target } of page) yield target as unknown as FollowerTarget
    const lastRelation = page.at(-1)
    if (!lastRelation || page.length < pageSize) return
    cursor = lastRelation.number
  }
}

/** Renders the `Delete` of an actor. Its id contains the time, because an agent may return and be removed again. */
function renderActorDelete(actor: string, deletedAt: string): Json {
  return {
    '@context': activityStreams,
    id: `${actor}#deletes/${Date.parse(deletedAt)}`,
    type: 'Delete',
    actor,
    published: deletedAt,
    to: [publicCollection],
    object: actor,
  }
}
