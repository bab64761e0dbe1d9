// Notifies the peers of an agent, once, that the agent has left the configuration.
import type { System } from '@postern/message'
import type { AgentDirectory, Channel, RelationStore } from '@postern/pipeline'
import type { RecordStore } from '@postern/transcript'

interface RemovedAgentsDeps {
  readonly store: Pick<RelationStore, 'listRelations'> & { readonly records: Pick<RecordStore, 'get' | 'put'> }
  readonly agents: Pick<AgentDirectory, 'list'>
  readonly channels: readonly Pick<Channel, 'actions'>[]
  readonly system: Pick<System, 'log'>
}

/** The agents of the configuration when a gateway of this store last started to work. */
const recordKey = { kind: 'gateway', owner: 'agents', key: 'configured' } as const
const pageSize = 1_000

/**
 * Notifies the peers of agents that have left the configuration, through the channels. The next start retries failed notifications. An
 * agent that returns and leaves again is announced again.
 */
export async function announceRemovedAgents(deps: RemovedAgentsDeps): Promise<void> {
  try {
    await announceRemovals(deps)
  } catch (error) {
    deps.system.log.error({ err: error }, 'cannot find the agents that have left the configuration')
  }
}

async function announceRemovals({ store, agents, channels, system }: RemovedAgentsDeps): Promise<void> {
  const configuredNames = new Set(agents.list().map(({ name }) => name))
  const formerNames = readNames((await store.records.get(recordKey))?.value) ?? (await listRelatedAgents(store))
  const pendingNames: string[] = []
  for (const name of formerNames.filter(formerName => !configuredNames.has(formerName))) {
    try {
      for (const channel of channels) await channel.actions?.announceRemoval?.(name)
      system.log.info({ agent: name }, 'notified the peers of an agent that has left the configuration')
    } catch (error) {
      pendingNames.push(name)
      system.log.error({ agent: name, err: error }, 'cannot tell the peers of an agent that it was removed')
    }
  }
  const names = [...configuredNames, ...pendingNames].toSorted()
  if (names.join() !== formerNames.toSorted().join()) await store.records.put(recordKey, names)
}

function readNames(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter(name => typeof name === 'string') : undefined
}

/** Lists agents with followers or other relations, because a store of an earlier release records agents only there. */
async function listRelatedAgents(store: Pick<RelationStore, 'listRelations'>): Promise<readonly string[]> {
  const names = new Set<string>()
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page = await store.listRelations({ limit: pageSize, after })
    for (const { agent } of page) names.add(agent)
    after = page.length < pageSize ? undefined : page.at(-1)?.number
  }
  return [...names]
}
