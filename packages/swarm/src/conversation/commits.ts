// Adds messages, tool calls and results to a client's history.
import type { ExecutionMode, JsonMap, SwarmImage, SwarmMessage, SwarmToolCall } from '@postern/transcript'
import { encodeSwarmImages, formatUuidOf, hasOnlyText } from '@postern/transcript'
import type { BusSource } from '../bus/bus.ts'
import type { SwarmDeps } from '../spec/swarm.ts'
import type { SwarmHistory } from './history.ts'

interface ToolRequest {
  readonly toolName: string
  readonly params: JsonMap
}

interface CommitOptions {
  /** The agent of the row. Absent for the active agent. */
  readonly agentName?: string | undefined
  /** True if the agent may be inactive. */
  readonly isForced?: boolean | undefined
  /** True if the row is already stored, so that only the event is emitted. */
  readonly isStored?: boolean | undefined
}

interface UserCommitOptions extends CommitOptions {
  readonly payload?: JsonMap | null | undefined
  readonly images?: readonly SwarmImage[] | undefined
}

/**
 * The functions that add rows to the history of a client. Each of them stores its row and then emits an event. Unless it is forced, a commit of an
 * inactive agent is skipped and returns false.
 */
export interface SwarmCommits {
  commitUserMessage(content: string, mode: ExecutionMode, options?: UserCommitOptions): Promise<boolean>
  commitAssistantMessage(content: string, options?: CommitOptions): Promise<boolean>
  commitSystemMessage(content: string, options?: CommitOptions): Promise<boolean>
  commitDeveloperMessage(content: string, options?: CommitOptions): Promise<boolean>
  /** Commits calls of tools and returns their ids, or no ids if the commit was skipped. */
  commitToolRequest(requests: readonly ToolRequest[], options?: CommitOptions): Promise<readonly string[]>
  /** Commits a model's calls with the model's own ids and text. @throws Rejection malformed if two calls have the same id */
  commitToolCalls(content: string, calls: readonly SwarmToolCall[], options?: CommitOptions): Promise<boolean>
  commitToolOutput(toolId: string, content: string, options?: CommitOptions): Promise<boolean>
  commitFlush(options?: CommitOptions): Promise<boolean>
  /** Skips the remaining calls of the running turn. */
  commitStopTools(options?: CommitOptions): Promise<boolean>
  /** Cancels the running answer. */
  commitCancelOutput(options?: CommitOptions): Promise<boolean>
  /** Informs an agent that another agent is active now, so its remaining calls are skipped. */
  commitAgentChange(options?: CommitOptions): Promise<boolean>
  /** Cuts the history for a reason and restarts with `restart` as the user's message. It emits no event. */
  commitRescue(reason: string, restart: string, options?: CommitOptions): Promise<boolean>
}

export interface SwarmCommitDeps extends Pick<SwarmDeps, 'bus' | 'system'> {
  readonly history: SwarmHistory
  readonly swarmName: string
  readonly clientId: string
  activeAgent(): string
  /** True for commits from outside of the agent, such as those of a tool, which the session's bus emits, too. */
  readonly isOfSession?: boolean | undefined
  /** True if inactive agents may commit. By default, the options of the commit decide. */
  readonly isForced?: boolean | undefined
  /** The effects of a commit in addition to its event. */
  readonly effects?: Readonly<Partial<Record<CommitType, () => void>>> | undefined
}

interface Commit extends CommitOptions {
  readonly type: CommitType
  readonly row?: Omit<SwarmMessage, 'agentName'> | undefined
  readonly input?: JsonMap | undefined
}

/** The buses that emit a commit from outside in addition to the agent's bus. */
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
  const commitEvent = (type: CommitType) => (options?: CommitOptions) => commit({ ...options, type }, deps)
  const commitText = (role: 'assistant' | 'system' | 'developer') => (content: string, options?: CommitOptions) => {
    const row = { role, content, mode: 'tool' } as const
    return commit({ ...options, type: `commit-${role}-message`, row, input: { message: content } }, deps)
  }
  return {
    commitUserMessage: (content, mode, options) => commitUserMessage(content, mode, deps, options),
    commitAssistantMessage: commitText('assistant'),
    commitSystemMessage: commitText('system'),
    commitDeveloperMessage: commitText('developer'),
    commitToolRequest: (requests, options) => commitToolRequest(requests, deps, options),
    commitToolCalls: (content, calls, options) => commitToolCalls(content, calls, deps, options),
    commitToolOutput(toolId, content, options) {
      const row = { role: 'tool', content, mode: 'tool', tool_call_id: toolId } as const
      return commit({ ...options, type: 'commit-tool-output', row, input: { toolId, content } }, deps)
    },
    commitFlush(options) {
      return commit({ ...options, type: 'commit-flush', row: { role: 'flush', content: '', mode: 'tool' } }, deps)
    },
    commitStopTools: commitEvent('commit-stop-tools'),
    commitCancelOutput: commitEvent('commit-cancel-output'),
    commitAgentChange: commitEvent('commit-agent-change'),
    async commitRescue(reason, restart, { agentName = deps.activeAgent(), isForced } = {}) {
      if (!mayCommit(agentName, isForced, deps)) return false
      await deps.history.push({ role: 'resque', content: reason, mode: 'tool', agentName })
      await deps.history.push({ role: 'user', content: restart, mode: 'tool', agentName })
      return true
    },
  }
}

function mayCommit(agentName: string, isForced: boolean | undefined, deps: SwarmCommitDeps): boolean {
  return isForced || deps.isForced || agentName === deps.activeAgent()
}

async function commit(newCommit: Commit, deps: SwarmCommitDeps): Promise<boolean> {
  const { history, bus, swarmName, clientId, activeAgent, isOfSession = false, effects = {} } = deps
  const { type, row, input = {}, agentName = activeAgent(), isForced, isStored = false } = newCommit
  if (!mayCommit(agentName, isForced, deps)) return false
  if (row && !isStored) await history.push({ ...row, agentName })
  effects[type]?.()
  const sources: readonly BusSource[] = ['agent-bus', ...(isOfSession ? outerBuses[type] : [])]
  for (const source of sources) bus.emit({ type, source, clientId, input, context: { agentName, swarmName } })
  return true
}

async function commitUserMessage(
  content: string,
  mode: ExecutionMode,
  deps: SwarmCommitDeps,
  { payload, images: userImages = [], ...options }: UserCommitOptions = {},
): Promise<boolean> {
  // A forced commit belongs to the agent that is active at the call, even if another agent is active when the Blob has been read.
  const { agentName = deps.isForced ? deps.activeAgent() : undefined } = options
  // Without a Blob, nothing is awaited before the row is stored, so rows keep the order of their commits.
  const images = hasOnlyText(userImages) ? userImages : await encodeSwarmImages(userImages)
  // Only the user's own message gets the payload of the call.
  const context =
    mode === 'user' && payload !== undefined ? { payload: payload as NonNullable<SwarmMessage['payload']> } : {}
  const row = { role: 'user', content, mode, ...context, ...(images.length > 0 && { images }) } as const
  return commit({ ...options, agentName, type: 'commit-user-message', row, input: { message: content } }, deps)
}

async function commitToolRequest(
  requests: readonly ToolRequest[],
  deps: SwarmCommitDeps,
  options?: CommitOptions,
): Promise<readonly string[]> {
  const calls = requests.map(({ toolName, params }): SwarmToolCall => {
    const calledFunction = { name: toolName, arguments: { ...params } as SwarmToolCall['function']['arguments'] }
    return { id: formatUuidOf(deps.system), type: 'function', function: calledFunction }
  })
  return (await commitToolCalls('', calls, deps, options)) ? calls.map(({ id }) => id) : []
}

function commitToolCalls(
  content: string,
  tool_calls: readonly SwarmToolCall[],
  deps: SwarmCommitDeps,
  options?: CommitOptions,
): Promise<boolean> {
  const request = tool_calls.map(({ function: calledFunction }) => ({
    toolName: calledFunction.name,
    params: calledFunction.arguments,
  }))
  const row = { role: 'assistant', content, mode: 'tool', tool_calls } as const
  return commit({ ...options, type: 'commit-tool-request', row, input: { request } }, deps)
}

/** Commits that do not check whether their agent is active. */
type ForcedCommits = { readonly [Name in keyof SwarmCommits as `${Name}Force`]: SwarmCommits[Name] }

/** Every commit with its variant `…Force`. */
export type AllCommits = SwarmCommits & ForcedCommits

export function createAllCommits(deps: SwarmCommitDeps): AllCommits {
  const forcedCommits = Object.entries(createSwarmCommits({ ...deps, isForced: true }))
  const namedCommits = forcedCommits.map(([name, commit]) => [`${name}Force`, commit] as const)
  return { ...createSwarmCommits(deps), ...Object.fromEntries(namedCommits) } as AllCommits
}
