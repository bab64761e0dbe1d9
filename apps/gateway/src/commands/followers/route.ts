import type { Channel, ListPeriod, Page, Relation, RelationKind, RelationStore } from '@postern/core'
import { channelNameSchema, relationKinds } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import type { FilteredPage } from '../../api/page.ts'
import { containsText, filterPage, isWithin, listFilters, pageOf, pageParameters, passing } from '../../api/page.ts'

const { agent, channel, sender, since, until } = listFilters

/** Follower, follow request or suppressed address, as a row of a list. */
export const relationSchema: z.ZodType<Relation> = z
  .object({
    place: z.int().describe('Number of it.'),
    via: channelNameSchema.describe('Channel.'),
    agent: z.string(),
    relation: z.enum(relationKinds),
    peer: z.string().describe('The peer’s principal: the IRI of an actor, or an address.'),
    target: z.json().describe('What the channel knows of it.'),
    since: z.int().describe('ms since 1970-01-01 UTC.'),
  })
  .meta({ id: 'Relation' })

const usualChannel = channel.describe('Only by this channel; default with `agent`: the one that has such relations.')

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

/** Who stands how to an agent, and the operator's word on those who ask to follow it. */
export function createFollowerRoutes({ store, channels }: FollowerOptions): readonly OperatorRoute[] {
  const usual = channels.find(channel => channel.decideFollow)?.descriptor.name
  return [
    handleOperation(followerOperations.list, ({ query }) => listRelationPage(store, { ...query, usual })),
    handleOperation(followerOperations.decide, async ({ parameters: { verdict }, body: { agent, peer } }) => {
      const isAccepted = verdict === 'accept'
      const decided = await Promise.all(channels.map(channel => channel.decideFollow?.(agent, peer, isAccepted)))
      requireFound(decided.includes(true), 'Cannot decide: nobody of this name asks to follow that agent')
      return { agent, peer, done: verdict }
    }),
  ]
}

interface RelationPage extends Page, ListPeriod {
  readonly relation: RelationKind
  readonly agent?: string | undefined
  readonly channel?: string | undefined
  /** The channel of an agent's relations where none is named. */
  readonly usual: string | undefined
  readonly sender?: string | undefined
}

/** One page of relations of one kind, oldest first. */
export function listRelationPage(
  store: Pick<RelationStore, 'listRelations'>,
  { relation, agent, usual, channel = agent === undefined ? undefined : usual, sender, ...rest }: RelationPage,
): Promise<FilteredPage<Relation>> {
  // There is an index of those of one agent by one channel.
  const filter = agent !== undefined && channel !== undefined ? { relation, agent, via: channel } : {}
  return filterPage(
    rest,
    page => store.listRelations({ ...filter, ...page }),
    passing(
      row =>
        row.relation === relation &&
        (agent === undefined || row.agent === agent) &&
        (channel === undefined || row.via === channel) &&
        containsText(row.peer, sender) &&
        isWithin(row.since, rest),
    ),
  )
}
