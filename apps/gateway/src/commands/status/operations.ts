import type { Json } from '@postern/core'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

const countsSchema = z.record(z.string(), z.int())

const agentSchema = z.object({
  name: z.string(),
  address: z.string().describe('`@name@domain`.'),
  use: z.string().describe('What answers: `webhook`, `openai`, a module.'),
  url: z.string().optional().describe('Its address, without secrets.'),
  is_default: z.boolean(),
  is_paused: z.boolean().describe('Its messages wait until an operator resumes it.'),
  description: z.string().optional(),
  page: z.string().describe('Its public page.'),
  card: z.string().describe('Its A2A card.'),
  tokens: z.array(z.object({ model: z.string(), kind: z.string(), tokens: z.int() })).readonly(),
})

export const statusOperations = {
  read: defineOperation({
    id: 'readStatus',
    method: 'GET',
    path: '/status',
    summary: 'Says what runs: version, store, agents, and how much waits.',
    task: 'read status',
    answer: z.object({
      version: z.string(),
      domain: z.string(),
      origin: z.string(),
      dev: z.boolean(),
      store: z.string().describe('`SQLite` or `PostgreSQL`.'),
      uptime_ms: z.int(),
      agents: z.int(),
      channels: z.array(z.string()).readonly(),
      waiting: z.int().describe('Requirements and questions that wait for an operator, at most 200.'),
      messages: countsSchema.describe('By state.'),
      deliveries: countsSchema.describe('By state.'),
      refusals: z.int(),
    }),
  }),
  agents: defineOperation({
    id: 'listAgents',
    method: 'GET',
    path: '/agents',
    summary: 'Lists the agents, with their addresses and what they have spent since the start.',
    task: 'list agents',
    answer: z.object({ agents: z.array(agentSchema).readonly() }),
  }),
  pause: defineOperation({
    id: 'pauseAgent',
    method: 'POST',
    path: '/agents/{agent}/{action}',
    summary: 'Lets the messages of an agent wait, or lets it go on with them.',
    task: 'pause agent',
    parameters: z.object({ agent: z.string(), action: z.enum(['pause', 'resume']) }),
    answer: z.object({ agent: z.string(), is_paused: z.boolean() }),
    refusals: { no_recipient: 'There is no agent of this name.' },
  }),
  settings: defineOperation({
    id: 'listSettings',
    method: 'GET',
    path: '/settings',
    summary: 'Lists every value of the configuration with its source; masks secrets.',
    task: 'list settings',
    answer: z.object({
      settings: z
        .array(
          z.object({
            key: z.string().describe('Path of the value, with dots.'),
            value: z.custom<Json>().describe('JSON; a secret is `(set)`.'),
            source: z.enum(['file', 'environment', 'default', 'dev']),
          }),
        )
        .readonly(),
    }),
  }),
}
