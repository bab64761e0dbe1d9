import type { AgentDirectory, Intake, KnownMessage, RelationEffect, Store, TurnQuota, Withdrawal } from '@postern/core'
import type { ActivityPubConfig } from '../config.ts'
import type { JsonObject } from '../format/reading.ts'
import type { RemoteActors } from '../peers/actor-cache.ts'
import type { IsBlocked } from '../peers/blocklist.ts'
import type { ForeignInboxes } from '../peers/foreign-inbox.ts'
import type { FetchCreatedPost } from '../posts/created-post.ts'
import type { ProvenActivity } from '../proofs/proven-activity.ts'
import type { NamedActivity } from './named-activity.ts'
import type { OwnPost } from './own-post.ts'

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
