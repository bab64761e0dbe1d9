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

/** What of ours an activity is about, looked up once. */
export interface Findings {
  /** The agents it is about or for. */
  readonly agents?: readonly string[]
  /** What is stored of the object it speaks of, by the same author. */
  readonly known?: readonly KnownMessage[]
  /** The post it makes known, where it only names it. */
  readonly createdPost?: JsonObject | undefined
  /** The post of ours it is about. */
  readonly post?: OwnPost
  /** Whether who asks to follow does so already. */
  readonly isFollowing?: boolean
  /** The account that a `Move` names, which names the moving one in turn. */
  readonly movedTo?: string
  /** Of those it is about, those whom its actor has blocked. */
  readonly blockedAgents?: readonly string[]
  /** Of an actor that has changed, where it is reached now. */
  readonly readdressed?: readonly Readdressed[]
  /** The type of activity that is undone. */
  readonly undone?: string
}

/** A proven activity, who sent it by name, and what of ours it is about. */
export interface ResolvedActivity extends Findings {
  readonly agents: readonly string[]
  readonly known: readonly KnownMessage[]
  readonly named: NamedActivity
  readonly gateway: InboxDeps
}

/** What reading needs to know of the gateway. */
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

/** One type of activity: what it is about, what agents are told of it, and what its author takes back by it. */
export interface ActivityKind {
  /** Undefined: nothing of ours. */
  find(proven: ProvenActivity, lookups: Lookups): Promise<Findings | undefined>
  /** Pure. */
  read(resolved: ResolvedActivity): readonly Intake[]
  /** Pure. */
  withdraw?(resolved: ResolvedActivity): readonly Withdrawal[]
}

/** A follower, or one who waits to be, with the places where he is reached now. */
export interface Readdressed {
  readonly agent: string
  readonly effect: Extract<RelationEffect, { kind: 'relate' }>
}
