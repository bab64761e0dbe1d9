// Lists linked addresses, forgets people and rewrites the database, in the operator's API.
import type { RemovedObjects, UnreachableObject } from '@postern/message'
import { Rejection } from '@postern/message'
import type {
  AgentDirectory,
  Channel,
  ForgetPersonRequest,
  ForgetPersonResult,
  PeopleStore,
  PersonAddress,
  PersonLink,
} from '@postern/pipeline'
import { listChannelAddresses, readChannelAddress } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import {
  containsText,
  filterPage,
  isWithin,
  listFilters,
  pageOf,
  pageParameters,
  selectMatching,
} from '../../api/page.ts'
import { parseOwner } from '../parse-owner.ts'

const { agent, channel, sender, since, until } = listFilters
const count = z.int()

const personAddressSchema: z.ZodType<PersonAddress> = z.object({
  via: z.string().describe('Channel.'),
  address: z.string(),
  subject: z.string().optional().describe('The proven principal of the address.'),
})

const personLinkSchema: z.ZodType<PersonLink> = z
  .object({
    number: z.int().describe('Number of the link.'),
    agent: z.string(),
    asker: personAddressSchema.describe('The address that asked.'),
    target: personAddressSchema.describe('The address that got the code.'),
    asked: z.int().describe('Number of the message that asked.'),
    confirmed: z.int().describe('Number of the message that brought the code back.'),
    since: z.int().describe('ms since 1970-01-01 UTC.'),
  })
  .meta({ id: 'PersonLink' })

const unreachableFileSchema: z.ZodType<UnreachableObject> = z
  .object({
    owner: z.string().describe('The key of the chats that the file is part of.'),
    bucket: z.string(),
    path: z.string(),
    storage: z.string().optional().describe('Absent if an earlier release stored the file.'),
  })
  .meta({ id: 'UnreachableFile' })

const unreachable = z
  .array(unreachableFileSchema)
  .readonly()
  .describe('Files that stay, because the gateway no longer uses their storage.')
const agentOutcomeSchema = z
  .object({
    agent: z.string(),
    has_forgotten: z.boolean(),
    error: z.string().optional().describe('The last error; the gateway calls the agent again.'),
  })
  .meta({ id: 'AgentOutcome' })

/** The result of calling one agent that must delete a person's data. */
export type AgentOutcome = Readonly<z.infer<typeof agentOutcomeSchema>>

const agents = z
  .array(agentOutcomeSchema)
  .readonly()
  .describe('Agents with a memory of their own, and whether they have forgotten the person, too.')
const leave_files = z
  .boolean()
  .optional()
  .describe('True: deletes the records of unreachable files, whose bytes the operator deletes.')

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
    summary: 'Deletes everything about a person, of all addresses that are linked with this one.',
    task: 'forget',
    body: {
      schema: z.strictObject({
        address: z.string().max(400).describe('`@name@server.example` or `name@example.org`.'),
        via: z
          .string()
          .optional()
          .describe('Only this channel, as `a2a`; default: the address as each channel has it.'),
        agent: z.string().optional().describe('Only from conversations with this agent; default: all agents.'),
        leave_files,
      }),
    },
    answer: z.object({
      address: z.string(),
      agent: z.string().nullable(),
      messages: count,
      links: count,
      relations: count,
      attachments: count,
      traces: count.describe('Entries of other kinds: chats, records, keys, look-ups, deliveries and refusals.'),
      unreachable,
      agents,
    }),
  }),
  forgetOwner: defineOperation({
    id: 'forgetOwner',
    method: 'POST',
    path: '/owners/forget',
    summary: 'Deletes everything about a person who chats.',
    task: 'forget',
    body: {
      schema: z.strictObject({
        owner: z.string().max(8_000).describe('The key of somebody’s chats: `web:["https://id.example","ann"]`.'),
        leave_files,
      }),
    },
    answer: z.object({
      owner: z.string(),
      links: count,
      runs: count,
      threads: count,
      attachments: count,
      records: count,
      unreachable,
      agents,
    }),
  }),
  vacuum: defineOperation({
    id: 'rewriteFiles',
    method: 'POST',
    path: '/vacuum',
    summary: 'Rewrites the database, so that it holds no deleted data.',
    task: 'rewrite files',
    answer: z.object({ rewritten: z.literal(true) }),
  }),
} as const

export interface PeopleRouteDeps {
  readonly store: Pick<PeopleStore, 'listLinks'>
}

const invalidPersonMessage =
  'Cannot forget: "address" must be like @name@server.example or name@example.org, and "via" must be an open channel if it is set'

export function createPeopleRoutes({ store }: PeopleRouteDeps): readonly OperatorRoute[] {
  return [
    handleOperation(peopleOperations.list, ({ query }) =>
      filterPage(
        query,
        page => store.listLinks({ agent: query.agent, ...page }),
        selectMatching(link => isWithin(link.since, query) && hasAddress(link, query)),
      ),
    ),
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

/** A result, with the ids of calls to agents that must delete the data, too. */
export type WithCalls<Result> = Result & { readonly calls: readonly string[] }

export interface ForgottenOwner extends Pick<RemovedObjects, 'unreachable'> {
  readonly links: number
  readonly runs: number
  readonly threads: number
  readonly attachments: number
  readonly records: number
}

/** Deletes people's data in the store. */
export interface PersonForgetting {
  forgetPerson(forgetting: ForgetPersonRequest): Promise<WithCalls<ForgetPersonResult>>
  /** Deletes all data of a person who chats. */
  forgetOwner(owner: string, leavesBytes: boolean): Promise<WithCalls<ForgottenOwner>>
}

interface ForgettingRouteOptions {
  readonly store: Pick<GatewayStore, 'rewriteFiles'>
  readonly forgetting: PersonForgetting
  /** Calls the agents now. Resolves with the outcomes, or with their states after a while. */
  readonly agentForgetting: { call(ids: readonly string[]): Promise<readonly AgentOutcome[]> }
  readonly agents: Pick<AgentDirectory, 'domain'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
}

const invalidOwnerMessage =
  'Cannot forget: "owner" must be the key of a person\u2019s chats, such as web:["https://id.example","ann"]'

/** Creates the routes that delete people's data, in the store and in agents with their own memory, and that rewrite the files of the store. */
export function createForgettingRoutes(options: ForgettingRouteOptions): readonly OperatorRoute[] {
  const { store, forgetting, agentForgetting, agents, channels } = options
  return [
    handleOperation(peopleOperations.forget, async ({ body: { address, via, agent, leave_files: leavesFiles } }) => {
      const addresses =
        via === undefined
          ? listChannelAddresses(address, channels, agents.domain)
          : [readChannelAddress(address, via, channels, agents.domain)].flatMap(personAddress => personAddress ?? [])
      if (addresses.length === 0) throw new Rejection('malformed', invalidPersonMessage)
      const { calls, ...counts } = await forgetting.forgetPerson({ agent, addresses, leavesFiles })
      return { address, agent: agent ?? null, ...counts, agents: await agentForgetting.call(calls) }
    }),
    handleOperation(peopleOperations.forgetOwner, async ({ body }) => {
      const owner = parseOwner(body.owner, channels)
      // An answer that nothing was deleted would look like success.
      if (owner === undefined) throw new Rejection('malformed', invalidOwnerMessage)
      const { calls, ...forgotten } = await forgetting.forgetOwner(owner, body.leave_files === true)
      return { owner, ...forgotten, agents: await agentForgetting.call(calls) }
    }),
    handleOperation(peopleOperations.vacuum, async () => {
      await store.rewriteFiles()
      return { rewritten: true as const }
    }),
  ]
}
