import type { AgentDirectory, Channel, PeopleStore, PersonAddress, PersonLink } from '@postern/core'
import { Rejection, readChannelAddress, readPersonAddress } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { containsText, filterPage, isWithin, listFilters, pageOf, pageParameters, passing } from '../../api/page.ts'
import { readOwner } from '../owner.ts'

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

export interface PeopleRouteOptions {
  readonly store: Pick<PeopleStore, 'listLinks' | 'forgetPerson'>
  readonly agents: Pick<AgentDirectory, 'domain'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
}

const noPersonProblem =
  'Cannot forget: say "address", as @name@server.example or name@example.org, "via", an open channel, where the address does not tell it, and "agent" if only one is to forget'

/** Which addresses are of one person, and the operator's word that somebody is to be forgotten. */
export function createPeopleRoutes({ store, agents, channels }: PeopleRouteOptions): readonly OperatorRoute[] {
  return [
    handleOperation(peopleOperations.list, ({ query }) =>
      filterPage(
        query,
        page => store.listLinks({ agent: query.agent, ...page }),
        passing(link => isWithin(link.since, query) && hasAddress(link, query)),
      ),
    ),
    handleOperation(peopleOperations.forget, async ({ body: { address, via, agent } }) => {
      const named =
        via === undefined
          ? readPersonAddress(address, channels, agents.domain)
          : readChannelAddress(address, via, channels, agents.domain)
      if (!named) throw new Rejection('malformed', noPersonProblem)
      const forgotten = await store.forgetPerson({ agent, addresses: [named] })
      return { address, agent: agent ?? null, ...forgotten }
    }),
  ]
}

function hasAddress(
  { asker, target }: PersonLink,
  { channel, sender }: { readonly channel?: string | undefined; readonly sender?: string | undefined },
): boolean {
  return [asker, target].some(
    ({ via, address }) => (channel === undefined || via === channel) && containsText(address, sender),
  )
}

type OwnerRouteOptions = Pick<
  GatewayStore,
  'forgetTasks' | 'unlinkAll' | 'transcript' | 'objects' | 'records' | 'rewriteFiles'
>

const noOwnerProblem =
  'Cannot forget: say "owner", the key of somebody\u2019s chats, such as web:["https://id.example","ann"]'

/** Somebody who chats: all that is theirs, in every format, is deleted. And the files of the store, from which deleted rows are taken out. */
export function createOwnerRoutes(
  store: OwnerRouteOptions,
  channels: readonly Pick<Channel, 'descriptor'>[],
): readonly OperatorRoute[] {
  return [
    handleOperation(peopleOperations.forgetOwner, async ({ body }) => {
      const owner = readOwner(body.owner, channels)
      // To delete nothing, and say so, would be taken for done.
      if (owner === undefined) throw new Rejection('malformed', noOwnerProblem)
      return { owner, ...(await forgetOwner(owner, store)) }
    }),
    handleOperation(peopleOperations.vacuum, async () => {
      await store.rewriteFiles()
      return { rewritten: true as const }
    }),
  ]
}

async function forgetOwner(owner: string, { forgetTasks, unlinkAll, transcript, objects, records }: OwnerRouteOptions) {
  return {
    links: await unlinkAll(owner),
    runs: await forgetTasks(owner),
    threads: await transcript.forgetOwner(owner),
    attachments: await objects.removeObjects(owner),
    records: await records.removeOwner(owner),
  }
}
