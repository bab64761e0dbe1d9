// Lists followers and other relations of agents, and decides follow requests, in the operator's API.
import { channelNameSchema } from '@postern/message'
import type { Channel, ListPeriod, Page, Relation, RelationKind, RelationStore } from '@postern/pipeline'
import { relationKinds } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import type { FilteredPage } from '../../api/page.ts'
import {
  containsText,
  filterPage,
  isWithin,
  listFilters,
  pageOf,
  pageParameters,
  selectMatching,
  unknownNameRefusal,
} from '../../api/page.ts'

const { agent, channel, sender, since, until } = listFilters

/** A follower, follow request or suppressed address, as a row of a list. */
export const relationSchema: z.ZodType<Relation> = z
  .object({
    number: z.int().describe('Number of the relation.'),
    via: channelNameSchema.describe('Channel.'),
    agent: z.string(),
    relation: z.enum(relationKinds),
    peer: z.string().describe('The peer’s principal: the IRI of an actor, or an address.'),
    target: z.json().describe('The channel’s own data about the peer.'),
    since: z.int().describe('ms since 1970-01-01 UTC.'),
  })
  .meta({ id: 'Relation' })

const usualChannel = channel.describe(
  'Only by this channel. With `agent`, the default is the channel that has followers.',
)

export const relationFilters = { agent, channel: usualChannel, sender, since, until, ...pageParameters }

const followDecisionSchema = z.object({ agent: z.string(), peer: z.string() })

export const followerOperations = {
  list: defineOperation({
    id: 'listRelations',
    method: 'GET',
    path: '/relations',
    summary: 'Lists followers of agents, follow requests and other relations, oldest first.',
    task: 'list relations',
    query: z.object({ relation: z.enum(relationKinds).default('follower'), ...relationFilters }),
    answer: pageOf(relationSchema),
    refusals: unknownNameRefusal,
  }),
  decide: defineOperation({
    id: 'decideFollowRequest',
    method: 'POST',
    path: '/follow-requests/{verdict}',
    summary: 'Accepts or rejects somebody who asks to follow an agent.',
    task: 'decide',
    parameters: z.object({ verdict: z.enum(['accept', 'reject']) }),
    body: {
      schema: z.strictObject({
        agent: z.string().describe('Name of the agent.'),
        peer: z.string().describe('The actor that asks.'),
      }),
    },
    answer: followDecisionSchema.extend({ done: z.enum(['accept', 'reject']) }),
    refusals: { no_recipient: 'Nobody of this name asks to follow that agent.' },
  }),
} as const

export interface FollowerOptions {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly channels: readonly Channel[]
}

export function createFollowerRoutes({ store, channels }: FollowerOptions): readonly OperatorRoute[] {
  const defaultChannel = channels.find(channel => channel.peers?.decideFollow)?.descriptor.name
  return [
    handleOperation(followerOperations.list, ({ query }) => listRelationPage(store, { ...query, defaultChannel })),
    handleOperation(followerOperations.decide, async ({ parameters: { verdict }, body: { agent, peer } }) => {
      const isAccepted = verdict === 'accept'
      const decisions = await Promise.all(
        channels.map(channel => channel.peers?.decideFollow?.(agent, peer, isAccepted)),
      )
      requireFound(decisions.includes(true), 'Cannot decide: nobody of this name asks to follow that agent')
      return { agent, peer, done: verdict }
    }),
  ]
}

interface RelationPage extends Page, ListPeriod {
  readonly relation: RelationKind
  readonly agent?: string | undefined
  readonly channel?: string | undefined
  /** The channel of an agent’s relations if the request names none. */
  readonly defaultChannel: string | undefined
  readonly sender?: string | undefined
}

/** Reads one page of relations of one kind, oldest first. */
export function listRelationPage(
  store: Pick<RelationStore, 'listRelations'>,
  { relation, agent, defaultChannel, channel = agent && defaultChannel, sender, ...pageAndPeriod }: RelationPage,
): Promise<FilteredPage<Relation>> {
  // The store has an index of relations by agent and channel.
  const filter = agent !== undefined && channel !== undefined ? { relation, agent, via: channel } : {}
  return filterPage(
    pageAndPeriod,
    page => store.listRelations({ ...filter, ...page }),
    selectMatching(
      row =>
        row.relation === relation &&
        (agent === undefined || row.agent === agent) &&
        (channel === undefined || row.via === channel) &&
        containsText(row.peer, sender) &&
        isWithin(row.since, pageAndPeriod),
    ),
  )
}
