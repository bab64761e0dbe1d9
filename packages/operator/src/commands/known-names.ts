// Refuses names of agents and channels that do not exist, because an empty list would look like no messages.
import { Rejection } from '@postern/message'
import type { AgentDirectory, Channel, OperatorStore } from '@postern/pipeline'
import type { ApiOperation, OperationRequest, OperatorRoute } from '../api/operation.ts'
import { refusalOperations } from './messages/operations.ts'

interface KnownNameDeps {
  readonly store: Pick<OperatorStore, 'hasAnswered'>
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly channels: readonly Channel[]
  readonly channelNames: readonly string[]
}

/** Refusals name the agents that peers asked for, even agents that do not exist. */
const uncheckedOperations: ReadonlySet<string> = new Set([refusalOperations.list.id])

/** The channel name of refusals by pages, discovery and this API. */
const gatewayName = 'gateway'

/** Makes a reading operation reject unknown names. A former agent counts as known, and so does a closed channel. */
export function withKnownNames(route: OperatorRoute, deps: KnownNameDeps): OperatorRoute {
  const { operation, run } = route
  if (operation.method !== 'GET' && operation.isReadOnly === undefined) return route
  return {
    operation,
    async run(request) {
      const { agent, channel } = namesIn(request)
      const createRefusal = (description: string) =>
        new Rejection('no_recipient', `Cannot ${operation.task}: there is no ${description}`)
      const isChecked = agent !== undefined && !uncheckedOperations.has(operation.id)
      if (isChecked && !deps.agents.find(agent) && !(await deps.store.hasAnswered(agent)))
        throw createRefusal(`agent "${agent}"`)
      if (channel !== undefined && !isChannel(channel, deps)) throw createRefusal(`channel "${channel}"`)
      return run(request)
    },
  }
}

function namesIn({ parameters, query, body }: OperationRequest<ApiOperation>) {
  const input: Readonly<Record<string, unknown>> = { ...(body as object | undefined), ...query, ...parameters }
  const readText = (name: string) => (typeof input[name] === 'string' ? input[name] : undefined)
  return { agent: readText('agent'), channel: readText('channel') }
}

function isChannel(name: string, { channels, channelNames }: KnownNameDeps): boolean {
  return (
    name === gatewayName || channelNames.includes(name) || channels.some(({ descriptor }) => descriptor.name === name)
  )
}
