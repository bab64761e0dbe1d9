import type { Relation } from '@postern/core'
import { channelNameSchema, relationKinds } from '@postern/core'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters, pageOf, pageParameters } from '../../api/page.ts'

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
