import type { AgentDirectory, Intake, KnownMessage, RelationEffect, Store, TurnQuota, Withdrawal } from '@postern/core'
import type { ActivityPubConfig } from '../config.ts'
import type { JsonObject } from '../format/document.ts'
import { isOpen, parsePieceId, parsePostIri, postIri, readRendering } from '../format/document.ts'
import type { FetchCreatedPost } from '../peers/document-fetch.ts'
import type { ForeignInboxes } from '../peers/foreign-inbox.ts'
import type { IsBlocked, RemoteActors } from '../peers/known-peers.ts'
import type { NamedActivity, ProvenActivity } from '../proofs/proven-activity.ts'

/** The objects of this gateway that an activity refers to, looked up once. */
export interface Findings {
  /** The agents it is about or for. */
  readonly agents?: readonly string[]
  /** Stored messages about its object, by the same author. */
  readonly known?: readonly KnownMessage[]
  /** The post it makes known, where it only names it. */
  readonly createdPost?: JsonObject | undefined
  /** The post of this gateway that it refers to. */
  readonly post?: OwnPost
  /** Whether the actor that asks to follow already follows. */
  readonly isFollowing?: boolean
  /** The account that a `Move` names, which names the moving one in turn. */
  readonly movedTo?: string
  /** The agents among them that its actor has blocked. */
  readonly blockedAgents?: readonly string[]
  /** The current inboxes of an actor that changed. */
  readonly readdressed?: readonly Readdressed[]
  /** The type of activity that is undone. */
  readonly undone?: string
}

/** A proven activity, its sender by name, and the objects of this gateway that it refers to. */
export interface ResolvedActivity extends Findings {
  readonly agents: readonly string[]
  readonly known: readonly KnownMessage[]
  readonly named: NamedActivity
  readonly gateway: InboxDeps
}

/** The facts about the gateway that normalizing needs. */
export interface InboxDeps {
  readonly agents: AgentDirectory
  readonly isBlocked: IsBlocked
  readonly follows: ActivityPubConfig['follows']
  readonly maxMentions: number
  /** For senders that call themselves machines, and for all others: only what comes faster than a person counts of these. */
  readonly quotas: { readonly machines: TurnQuota; readonly people: TurnQuota }
}

export interface Lookups {
  readonly agents: AgentDirectory
  readonly actors: Pick<RemoteActors, 'find' | 'refresh'>
  readonly store: Pick<Store, 'findAuthored' | 'findResponse' | 'findRelation'>
  readonly fetchCreatedPost: FetchCreatedPost
  readonly foreignInboxes: Pick<ForeignInboxes, 'admitFollower'>
}

/** One type of activity: the objects it refers to, the message for agents, and what its author withdraws by it. */
export interface ActivityKind {
  /** Undefined: it refers to nothing here. */
  find(proven: ProvenActivity, lookups: Lookups): Promise<Findings | undefined>
  /** Pure. */
  read(resolved: ResolvedActivity): readonly Intake[]
  /** Pure. */
  withdraw?(resolved: ResolvedActivity): readonly Withdrawal[]
}

/** A follower, or a peer that asks to follow, with its current inboxes. */
export interface Readdressed {
  readonly agent: string
  readonly effect: Extract<RelationEffect, { kind: 'relate' }>
}

/** The effect of a delivery: nothing, to forget an actor that is gone, or what its kind of activity does. */
export type ResolvedDelivery =
  | 'nothing'
  | { readonly gone: string }
  | { readonly kind: ActivityKind; readonly resolved: ResolvedActivity }

/** An agent's post that a peer reacts to. */
interface OwnPost {
  readonly agent: string
  /** Its IRI. */
  readonly id: string
  readonly thread_id: string
  /** The id of its thread. */
  readonly scope: string
}

interface OwnPostLookups {
  readonly agents: AgentDirectory
  readonly store: Pick<Store, 'findResponse' | 'findRelation'>
}

/** An own post that this actor may read. For all others it does not exist. */
export async function findOwnPost(
  iri: string,
  reader: string,
  { agents, store }: OwnPostLookups,
): Promise<OwnPost | undefined> {
  const named = parsePostIri(iri, agents)
  const { responseId, piece } = parsePieceId(named?.id ?? '')
  const found = named && (await store.findResponse(responseId))
  if (!found || found.agent !== named.agent || found.via !== 'activitypub' || found.retractedAt) return undefined
  const { reply, visibility, pieces } = readRendering(found.rendering, found.target, found.response)
  if (piece >= pieces) return undefined
  const isReader = isOpen(visibility) || reply?.actor === reader
  if (!isReader && (visibility !== 'followers' || !(await isFollower(reader, found.agent, store)))) return undefined
  return {
    agent: named.agent,
    id: postIri(agents.origin, named.agent, named.id),
    thread_id: found.message.thread_id,
    scope: isOpen(reply?.visibility ?? visibility) ? 'public' : (reply?.actor ?? found.message.id),
  }
}

async function isFollower(peer: string, agent: string, store: Pick<Store, 'findRelation'>): Promise<boolean> {
  return (await store.findRelation({ via: 'activitypub', agent, relation: 'follower', peer })) !== undefined
}
