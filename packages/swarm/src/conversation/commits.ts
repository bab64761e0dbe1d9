import type { ExecutionMode, JsonMap, SwarmImage, SwarmMessage, SwarmToolCall } from '@postern/transcript'
import { encodeSwarmImages, formatUuidOf, hasOnlyText } from '@postern/transcript'
import type { BusSource } from '../bus/bus.ts'
import type { SwarmDeps } from '../spec/swarm.ts'
import type { SwarmHistory } from './history.ts'

interface ToolRequest {
  readonly toolName: string
  readonly params: JsonMap
}

/** In whose name, and whether also when that agent is no longer the active one. */
export interface CommitOptions {
  /** Default: the agent that is active. */
  readonly agentName?: string | undefined
  readonly isForced?: boolean | undefined
  /** The row is there already: only the event is told. */
  readonly isStored?: boolean | undefined
}

interface UserCommitOptions extends CommitOptions {
  readonly payload?: JsonMap | null | undefined
  readonly images?: readonly SwarmImage[] | undefined
}

/**
 * Every way in which a row comes into the history of a client, each with its event on the bus, told after the row is stored. A commit of
 * an agent that is no longer active is skipped (false) unless it is forced.
 */
export interface SwarmCommits {
  commitUserMessage(content: string, mode: ExecutionMode, options?: UserCommitOptions): Promise<boolean>
  commitAssistantMessage(content: string, options?: CommitOptions): Promise<boolean>
  commitSystemMessage(content: string, options?: CommitOptions): Promise<boolean>
  commitDeveloperMessage(content: string, options?: CommitOptions): Promise<boolean>
  /** The ids of the calls; none when it was skipped. */
  commitToolRequest(requests: readonly ToolRequest[], options?: CommitOptions): Promise<readonly string[]>
  /** Calls a model made, under its own ids, with what it said. @throws Rejection malformed for two calls of one id */
  commitToolCalls(content: string, calls: readonly SwarmToolCall[], options?: CommitOptions): Promise<boolean>
  commitToolOutput(toolId: string, content: string, options?: CommitOptions): Promise<boolean>
  commitFlush(options?: CommitOptions): Promise<boolean>
  /** Leaves undone what is still to be called in the turn that runs. */
  commitStopTools(options?: CommitOptions): Promise<boolean>
  /** Gives up the answer that is being made. */
  commitCancelOutput(options?: CommitOptions): Promise<boolean>
  /** Tells an agent that it is not the one who speaks any more: what it has still to call is left undone. */
  commitAgentChange(options?: CommitOptions): Promise<boolean>
  /** Cuts the history for a reason, and begins again with `restart` in the user's place. Rows alone: an agent tells nothing of it. */
  commitRescue(reason: string, restart: string, options?: CommitOptions): Promise<boolean>
}

export interface SwarmCommitDeps extends Pick<SwarmDeps, 'bus' | 'platform'> {
  readonly history: SwarmHistory
  readonly swarmName: string
  readonly clientId: string
  activeAgent(): string
  /** Done by somebody outside of the agent, such as a tool: the session's bus tells of it, too. */
  readonly isOfSession?: boolean | undefined
  /** What is to be done beside telling. */
  readonly effects?: Readonly<Partial<Record<CommitType, () => void>>> | undefined
}

interface Commit extends CommitOptions {
  readonly type: CommitType
  readonly row?: Omit<SwarmMessage, 'agentName'> | undefined
  readonly input?: JsonMap | undefined
}

/** Of each commit, which buses beside the agent's tell it when it is done from outside. */
const outerBuses = {
  'commit-user-message': ['session-bus'],
  'commit-assistant-message': ['session-bus'],
  'commit-system-message': ['session-bus'],
  'commit-developer-message': ['session-bus'],
  'commit-tool-request': ['session-bus'],
  'commit-tool-output': ['session-bus'],
  'commit-flush': ['session-bus'],
  'commit-stop-tools': ['session-bus'],
  'commit-cancel-output': [],
  'commit-agent-change': [],
} as const satisfies Readonly<Record<string, readonly BusSource[]>>

type CommitType = keyof typeof outerBuses

export function createSwarmCommits(deps: SwarmCommitDeps): SwarmCommits {
  const { history, bus, platform, swarmName, clientId, activeAgent, isOfSession = false, effects = {} } = deps

  async function commit(done: Commit): Promise<boolean> {
    const { type, row, input = {}, agentName = activeAgent(), isForced = false, isStored = false } = done
    if (!isForced && agentName !== activeAgent()) return false
    if (row && !isStored) await history.push({ ...row, agentName })
    effects[type]?.()
    const sources: readonly BusSource[] = ['agent-bus', ...(isOfSession ? outerBuses[type] : [])]
    for (const source of sources) bus.emit({ type, source, clientId, input, context: { agentName, swarmName } })
    return true
  }

  const commitText =
    (role: 'assistant' | 'system' | 'developer') =>
    (content: string, options?: CommitOptions): Promise<boolean> =>
      commit({
        ...options,
        type: `commit-${role}-message`,
        row: { role, content, mode: 'tool' },
        input: { message: content },
      })
  const commitBare = (type: CommitType) => (options?: CommitOptions) => commit({ ...options, type })

  function commitToolCalls(
    content: string,
    tool_calls: readonly SwarmToolCall[],
    options?: CommitOptions,
  ): Promise<boolean> {
    const request = tool_calls.map(({ function: called }) => ({ toolName: called.name, params: called.arguments }))
    const row = { role: 'assistant', content, mode: 'tool', tool_calls } as const
    return commit({ ...options, type: 'commit-tool-request', row, input: { request } })
  }

  return {
    async commitUserMessage(content, mode, { payload, images: given = [], ...options } = {}) {
      // Without a Blob nothing is waited for: rows stand in the order in which they were committed.
      const images = hasOnlyText(given) ? given : await encodeSwarmImages(given)
      // Only what a user says himself carries what the call knew of him.
      const context =
        mode === 'user' && payload !== undefined ? { payload: payload as NonNullable<SwarmMessage['payload']> } : {}
      const row = { role: 'user', content, mode, ...context, ...(images.length > 0 && { images }) } as const
      return commit({ ...options, type: 'commit-user-message', row, input: { message: content } })
    },
    commitAssistantMessage: commitText('assistant'),
    commitSystemMessage: commitText('system'),
    commitDeveloperMessage: commitText('developer'),
    async commitToolRequest(requests, options) {
      const calls = requests.map(({ toolName, params }): SwarmToolCall => {
        const called = { name: toolName, arguments: { ...params } as SwarmToolCall['function']['arguments'] }
        return { id: formatUuidOf(platform), type: 'function', function: called }
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
    commitStopTools: commitBare('commit-stop-tools'),
    commitCancelOutput: commitBare('commit-cancel-output'),
    commitAgentChange: commitBare('commit-agent-change'),
    async commitRescue(reason, restart, { agentName = activeAgent(), isForced = false } = {}) {
      if (!isForced && agentName !== activeAgent()) return false
      await history.push({ role: 'resque', content: reason, mode: 'tool', agentName })
      await history.push({ role: 'user', content: restart, mode: 'tool', agentName })
      return true
    },
  }
}
