import type { PersonAddress, PersonLink } from '@postern/core'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters, pageOf, pageParameters } from '../../api/page.ts'

const { agent, channel, sender, since, until } = listFilters
const count = z.int()

const personAddressSchema: z.ZodType<PersonAddress> = z.object({
  via: z.string().describe('Channel.'),
  address: z.string(),
  subject: z.string().optional().describe('The principal that the channel has proven for it.'),
})

const personLinkSchema: z.ZodType<PersonLink> = z
  .object({
    place: z.int().describe('Number of it.'),
    agent: z.string(),
    asker: personAddressSchema.describe('The address that asked.'),
    target: personAddressSchema.describe('The address that got the code.'),
    asked: z.int().describe('Number of the message that asked.'),
    confirmed: z.int().describe('Number of the message that brought the code back.'),
    since: z.int().describe('ms since 1970-01-01 UTC.'),
  })
  .meta({ id: 'PersonLink' })

export const peopleOperations = {
  list: defineOperation({
    id: 'listPeople',
    method: 'GET',
    path: '/people',
    summary: 'Lists the addresses that people have linked, newest first.',
    task: 'list people',
    query: z.object({ agent, channel, sender, since, until, ...pageParameters }),
    answer: pageOf(personLinkSchema),
  }),
  forget: defineOperation({
    id: 'forgetPerson',
    method: 'POST',
    path: '/people/forget',
    summary: 'Deletes all there is of a person, of all addresses that are linked with this one.',
    task: 'forget',
    body: {
      schema: z.strictObject({
        address: z.string().max(400).describe('`@name@server.example` or `name@example.org`.'),
        via: z
          .string()
          .optional()
          .describe('Channel of the address, as `a2a`; default: the first one that can link such an address.'),
        agent: z.string().optional().describe('Only from conversations with this agent; default: all agents.'),
      }),
    },
    answer: z.object({
      address: z.string(),
      agent: z.string().nullable(),
      messages: count,
      links: count,
      relations: count,
    }),
  }),
  forgetOwner: defineOperation({
    id: 'forgetOwner',
    method: 'POST',
    path: '/owners/forget',
    summary: 'Deletes all there is of somebody who chats.',
    task: 'forget',
    body: {
      schema: z.strictObject({
        owner: z.string().max(8_000).describe('The key of somebody’s chats: `web:["https://id.example","ann"]`.'),
      }),
    },
    answer: z.object({
      owner: z.string(),
      links: count,
      runs: count,
      threads: count,
      attachments: count,
      records: count,
    }),
  }),
  vacuum: defineOperation({
    id: 'rewriteFiles',
    method: 'POST',
    path: '/vacuum',
    summary: 'Writes the database anew, so that it keeps nothing of deleted data.',
    task: 'rewrite files',
    answer: z.object({ rewritten: z.literal(true) }),
  }),
} as const
