// Declares how the inbox handles one type of activity, and the facts about it that the gateway looks up.
import { threadSourceOf } from '@postern/message'
import type {
  AgentDirectory,
  AuthoredMessage,
  Intake,
  RelationEffect,
  Store,
  TurnQuota,
  UnusedIntake,
  Withdrawal,
} from '@postern/pipeline'
import type { ActivityPubConfig } from '../config.ts'
import type { IsBlocked } from '../domains/blocklist.ts'
import type { JsonObject } from '../format/json-object.ts'
import { parsePieceId, parsePostIri, postIri } from '../format/own-iris.ts'
import { readRendering } from '../format/targets.ts'
import { isReadableByEveryone } from '../format/visibility.ts'
import type { ForeignInboxLimits } from '../inboxes/foreign-inbox-limits.ts'
import type { ActorCache } from '../peers/actor-cache.ts'
import type { FetchCreatedPost } from '../peers/document-fetch.ts'
import type { NamedActivity, ProvenActivity } from '../proofs/proven-activity.ts'

/** The objects of this gateway that an activity refers to, looked up once. */
export interface Findings {
  /** The agents that the activity is about or for. */
  readonly agents?: readonly string[]
  /** The stored messages about the object of the activity, by the same author. */
  readonly earlierMessages?: readonly AuthoredMessage[]
  /** The post that the activity creates, if the activity only names it. */
  readonly createdPost?: JsonObject | undefined
  /** The post of this gateway that the activity refers to. */
  readonly post?: OwnPost
  /** True if the actor that asks to follow already follows. */
  readonly isFollowing?: boolean
  /** The target account of a `Move`, which claims the old account as its own. */
  readonly movedTo?: string
  /** The agents that the actor has blocked. */
  readonly blockedAgents?: readonly string[]
  /** The current inboxes of an actor that changed. */
  readonly inboxChanges?: readonly InboxChange[]
  /** The type of the activity that is undone. */
  readonly undoneType?: string
}

/** A proven activity, its sender by name, and the objects of this gateway that it refers to. */
export interface ResolvedActivity extends Findings {
  readonly agents: readonly string[]
  readonly earlierMessages: readonly AuthoredMessage[]
  readonly proven: NamedActivity
  readonly gateway: InboxDeps
}

/** The facts about the gateway that normalizing needs. */
export interface InboxDeps {
  readonly agents: AgentDirectory
  readonly isBlocked: IsBlocked
  readonly follows: ActivityPubConfig['follows']
  readonly maxMentions: number
  /**
   * The quotas of turns: one for senders that call themselves machines, and one for all others. Of the others, only messages that arrive faster
   * than a person writes count.
   */
  readonly quotas: { readonly machines: TurnQuota; readonly people: TurnQuota }
}

export interface InboxLookups {
  readonly agents: AgentDirectory
  readonly actors: Pick<ActorCache, 'find' | 'refresh'>
  readonly store: Pick<Store, 'findAuthored' | 'findResponse' | 'findRelation' | 'listPeerRelations'>
  readonly fetchCreatedPost: FetchCreatedPost
  readonly foreignInboxes: Pick<ForeignInboxLimits, 'countFollower'>
}

/** The handler of one type of activity. It finds the objects that the activity refers to, the messages for agents, and what the author withdraws. */
export interface ActivityKind {
  /** Finds the objects that the activity refers to. Returns undefined if it refers to nothing here. */
  find(proven: ProvenActivity, lookups: InboxLookups): Promise<Findings | undefined>
  /** Returns the messages for the agents. It is pure. */
  toIntakes(resolved: ResolvedActivity): readonly Intake[]
  /** Returns the author's withdrawals. It is pure. Absent if activities of this type withdraw nothing. */
  listWithdrawals?(resolved: ResolvedActivity): readonly Withdrawal[]
}

/** A follower, or a peer that asks to follow, with its current inboxes. */
export interface InboxChange {
  readonly agent: string
  readonly effect: Extract<RelationEffect, { kind: 'relate' }>
}

/** The effect of an inbox request: nothing, the removal of a deleted actor, an entry in the operator's list, or the effect of its type of activity. */
export type ResolvedInboxRequest =
  | 'ignored'
  | { readonly deletedActor: string }
  | { readonly unused: UnusedIntake }
  | UnderstoodActivity

interface UnderstoodActivity {
  readonly kind: ActivityKind
  readonly resolved: ResolvedActivity
}

export function isUnderstood(request: ResolvedInboxRequest): request is UnderstoodActivity {
  return request !== 'ignored' && 'kind' in request
}

/** An agent's post that a peer reacts to. */
interface OwnPost {
  readonly agent: string
  /** The IRI of the post. */
  readonly id: string
  readonly thread_source: string
  /** The id of its thread. */
  readonly scope: string
}

interface OwnPostLookups {
  readonly agents: AgentDirectory
  readonly store: Pick<Store, 'findResponse' | 'findRelation'>
}

/** Finds an own post that this actor may read. For all others it does not exist. */
export async function findOwnPost(
  iri: string,
  readerId: string,
  { agents, store }: OwnPostLookups,
): Promise<OwnPost | undefined> {
  const postAddress = parsePostIri(iri, agents)
  const { responseId, piece } = parsePieceId(postAddress?.id ?? '')
  const response = postAddress && (await store.findResponse(responseId))
  if (!response || response.agent !== postAddress.agent || response.via !== 'activitypub' || response.retractedAt)
    return undefined
  const { reply, visibility, pieces } = readRendering(response.rendering, response.target, response.response)
  if (piece >= pieces) return undefined
  const isReader = isReadableByEveryone(visibility) || reply?.actor === readerId
  if (!isReader && (visibility !== 'followers' || !(await isFollower(readerId, response.agent, store))))
    return undefined
  return {
    agent: postAddress.agent,
    id: postIri(agents.origin, postAddress.agent, postAddress.id),
    thread_source: threadSourceOf(response.message),
    scope: isReadableByEveryone(reply?.visibility ?? visibility) ? 'public' : (reply?.actor ?? response.message.id),
  }
}

async function isFollower(peer: string, agent: string, store: Pick<Store, 'findRelation'>): Promise<boolean> {
  return (await store.findRelation({ via: 'activitypub', agent, relation: 'follower', peer })) !== undefined
}
