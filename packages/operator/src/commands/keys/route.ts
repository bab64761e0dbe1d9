// Lists keys, their DNS records and the names of secrets, and rotates them, in the operator's API.
import { isoTime } from '@postern/message'
import type { AgentDirectory, Channel, ListedSecret, PublishedKey, SecretStore } from '@postern/pipeline'
import { maxListedKeyOwners, secretPurposes } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { listFilters, unknownNameRefusal } from '../../api/page.ts'

const publishedKeySchema = z
  .object({
    via: z.string().describe('Channel.'),
    purpose: z.string().describe('The documents that the key signs.'),
    id: z.string(),
    algorithm: z.string(),
    publicKey: z.string().describe('PEM, or what the channel publishes.'),
    dns: z
      .object({ name: z.string(), type: z.literal('TXT'), value: z.string() })
      .optional()
      .describe('The record to publish.'),
    madeAt: z.string().optional().describe('ISO 8601 UTC; absent for a key that the gateway did not make.'),
  })
  .meta({ id: 'PublishedKey' })

const secretSchema = z
  .object({
    id: z.string(),
    purpose: z.string().describe('The values that the gateway makes and checks with the secret.'),
    madeAt: z.string().optional().describe('ISO 8601 UTC; absent for one of an earlier release.'),
  })
  .meta({ id: 'ListedSecret' })

const keyListSchema = z.object({
  keys: z.array(publishedKeySchema),
  secrets: z.array(secretSchema).describe('Valid secrets, without their values, newest first within each purpose.'),
})

const keyPageSchema = keyListSchema.extend({
  agents_left_out: z.int().describe('Number of agents whose keys the answer leaves out; `agent` asks for one.'),
})

export const keyOperations = {
  list: defineOperation({
    id: 'listKeys',
    method: 'GET',
    path: '/keys',
    // The call creates missing keys, so that the operator can publish them before the first start.
    isReadOnly: () => false,
    summary: 'Lists the public keys, the DNS records to publish, and the names of the secrets.',
    task: 'list keys',
    query: z.object({
      agent: listFilters.agent.describe(
        `Only keys of this agent and of the gateway itself; default: of the first ${maxListedKeyOwners} agents.`,
      ),
    }),
    answer: keyPageSchema,
    refusals: unknownNameRefusal,
  }),
  rotate: defineOperation({
    id: 'rotateKeys',
    method: 'POST',
    path: '/keys/rotate',
    summary: 'Makes new keys of one agent, or of all agents with new secrets of the store.',
    task: 'rotate keys',
    body: {
      schema: z.strictObject({
        agent: z.string().optional().describe('Default: all agents.'),
        revoke: z.boolean().default(false).describe('End the old keys at once, because somebody else has one.'),
      }),
      isOptional: true,
    },
    answer: keyListSchema,
    refusals: { no_recipient: 'There is no such agent.' },
  }),
}

interface KeyRouteOptions {
  readonly agents: Pick<AgentDirectory, 'list'>
  readonly channels: readonly Channel[]
  readonly store: Pick<SecretStore, 'listSecrets' | 'rotateSecrets'>
}

export function createKeyRoutes({ agents, channels, store }: KeyRouteOptions): readonly OperatorRoute[] {
  const listKeys = async (list: (channel: Channel) => Promise<readonly PublishedKey[]> | undefined) => {
    const keyLists = channels.map(async channel => {
      const keys = (await list(channel)) ?? []
      return keys.map(key => ({ via: channel.descriptor.name, ...key }))
    })
    return (await Promise.all(keyLists)).flat()
  }
  return [
    handleOperation(keyOperations.list, async ({ query: { agent } }) => {
      const names = agent === undefined ? listKeyOwners(agents) : [agent]
      return {
        keys: await listKeys(channel => channel.keys?.list(names)),
        secrets: (await store.listSecrets()).map(describeSecret),
        agents_left_out: agent === undefined ? agents.list().length - names.length : 0,
      }
    }),
    handleOperation(keyOperations.rotate, async ({ body: { agent, revoke } }) => {
      const keys = await listKeys(channel => channel.keys?.rotate?.(agent, { isRevoking: revoke }))
      // Secrets belong to the gateway. An agent has none.
      if (agent !== undefined) return { keys, secrets: [] }
      await store.rotateSecrets({ isRevoking: revoke })
      return { keys, secrets: (await store.listSecrets()).filter(isNewest).map(describeSecret) }
    }),
  ]
}

function listKeyOwners(agents: KeyRouteOptions['agents']): readonly string[] {
  return agents
    .list()
    .slice(0, maxListedKeyOwners)
    .map(({ name }) => name)
}

function isNewest({ purpose }: ListedSecret, index: number, secrets: readonly ListedSecret[]): boolean {
  return secrets[index - 1]?.purpose !== purpose
}

function describeSecret({ purpose, generation, madeAt }: ListedSecret) {
  return {
    id: generation === 1 ? purpose : `${purpose}-${generation}`,
    purpose: secretPurposes[purpose],
    ...(madeAt !== undefined && { madeAt: isoTime(madeAt) }),
  }
}
