import type { JsonMap } from '../json-difference.ts'
import { formatUuidOf } from '../new-id.ts'
import type { SwarmHistory } from './swarm-history.ts'
import type { ExecutionMode, SwarmMessage, SwarmToolCall } from './swarm-message.ts'
import type { SwarmDeps } from './swarm-spec.ts'

export interface ToolRequest {
  readonly toolName: string
  readonly params: JsonMap
}

/** In whose name, and whether also when that agent is no longer the active one. */
export interface CommitOptions {
  readonly agentName: string
  readonly isForced?: boolean | undefined
  /** The row is there already: only the event is told. */
  readonly isStored?: boolean | undefined
}

/**
 * Every way in which a row comes into the history of a client, each with its event on the bus, told after the row is stored. A commit of
 * an agent that is no longer active is skipped (false) unless it is forced.
 */
export interface SwarmCommits {
  commitUserMessage(
    content: string,
    mode: ExecutionMode,
    options: CommitOptions & { readonly payload?: JsonMap | null; readonly images?: readonly string[] },
  ): Promise<boolean>
  commitAssistantMessage(content: string, options: CommitOptions): Promise<boolean>
  commitSystemMessage(content: string, options: CommitOptions): Promise<boolean>
  commitDeveloperMessage(content: string, options: CommitOptions): Promise<boolean>
  /** The ids of the calls; none when it was skipped. */
  commitToolRequest(requests: readonly ToolRequest[], options: CommitOptions): Promise<readonly string[]>
  /** Calls a model made, under its own ids, with what it said. @throws Rejection malformed for two calls of one id */
  commitToolCalls(content: string, calls: readonly SwarmToolCall[], options: CommitOptions): Promise<boolean>
  commitToolOutput(toolId: string, content: string, options: CommitOptions): Promise<boolean>
  commitFlush(options: CommitOptions): Promise<boolean>
  commitRescue(reason: string, options: CommitOptions): Promise<boolean>
  commitStopTools(options: CommitOptions): Promise<boolean>
  commitCancelOutput(options: CommitOptions): Promise<boolean>
}

export interface CommitDeps extends Pick<SwarmDeps, 'bus' | 'world'> {
  readonly history: SwarmHistory
  readonly swarmName: string
  readonly clientId: string
  activeAgent(): string
}

interface Commit extends CommitOptions {
  readonly type: string
  readonly row?: Omit<SwarmMessage, 'agentName'> | undefined
  readonly input?: JsonMap | undefined
}

export function createSwarmCommits({
  history,
  bus,
  world,
  swarmName,
  clientId,
  activeAgent,
}: CommitDeps): SwarmCommits {
  async function commit({
    type,
    row,
    input = {},
    agentName,
    isForced = false,
    isStored = false,
  }: Commit): Promise<boolean> {
    if (!isForced && agentName !== activeAgent()) return false
    if (row && !isStored) await history.push({ ...row, agentName })
    bus.emit({ type, source: 'agent-bus', clientId, input, context: { agentName, swarmName } })
    return true
  }
  const commitText =
    (type: string, role: 'assistant' | 'system' | 'developer') => (content: string, options: CommitOptions) =>
      commit({ ...options, type, row: { role, content, mode: 'tool' }, input: { message: content } })

  function commitToolCalls(
    content: string,
    tool_calls: readonly SwarmToolCall[],
    options: CommitOptions,
  ): Promise<boolean> {
    const request = tool_calls.map(({ function: called }) => ({ toolName: called.name, params: called.arguments }))
    const row = { role: 'assistant', content, mode: 'tool', tool_calls } as const
    return commit({ ...options, type: 'commit-tool-request', row, input: { request } })
  }

  return {
    commitUserMessage(content, mode, { payload, images, ...options }) {
      // Only what a user says himself carries what the call knew of him.
      const context =
        mode === 'user' && payload !== undefined ? { payload: payload as NonNullable<SwarmMessage['payload']> } : {}
      const row = { role: 'user', content, mode, ...context, ...(images && images.length > 0 && { images }) } as const
      return commit({ ...options, type: 'commit-user-message', row, input: { message: content } })
    },
    commitAssistantMessage: commitText('commit-assistant-message', 'assistant'),
    commitSystemMessage: commitText('commit-system-message', 'system'),
    commitDeveloperMessage: commitText('commit-developer-message', 'developer'),
    async commitToolRequest(requests, options) {
      const calls = requests.map(({ toolName, params }): SwarmToolCall => {
        return {
          id: formatUuidOf(world),
          type: 'function',
          function: { name: toolName, arguments: { ...params } as SwarmToolCall['function']['arguments'] },
        }
      })
      return (await commitToolCalls('', calls, options)) ? calls.map(({ id }) => id) : []
    },
    commitToolCalls,
    commitToolOutput(toolId, content, options) {
      const row = { role: 'tool', content, mode: 'tool', tool_call_id: toolId } as const
      return commit({ ...options, type: 'commit-tool-output', row, input: { toolId, content } })
    },
    commitFlush: options =>
      commit({ ...options, type: 'commit-flush', row: { role: 'flush', content: '', mode: 'tool' } }),
    commitRescue: (reason, options) =>
      commit({
        ...options,
        type: 'commit-flush',
        row: { role: 'resque', content: reason, mode: 'tool' },
        input: { reason },
      }),
    commitStopTools: options => commit({ ...options, type: 'commit-stop-tools' }),
    commitCancelOutput: options => commit({ ...options, type: 'commit-cancel-output' }),
  }
}
