// Defines the agents, tools, models, policies and texts of a swarm.
import type { Json, Log, System } from '@postern/message'
import type { JsonMap, RecordStore, SwarmMessage, SwarmToolCall, TranscriptStore } from '@postern/transcript'
import type { SwarmBus } from '../bus/bus.ts'
import type { DataSpec, SwarmData } from '../data/swarm-data.ts'

export interface SwarmSpec extends DataSpec {
  readonly swarmName: string
  readonly agents: readonly AgentSpec[]
  readonly defaultAgent: string
  readonly policies?: readonly SwarmPolicy[] | undefined
  /** The prompts that precede the prompt of every agent. */
  readonly commonPrompts?: readonly string[] | undefined
  /** The checks for content that no answer may have. Default: tool markup and JSON calls. */
  readonly answerChecks?: readonly AnswerCheck[] | undefined
  /** True if a recursion of hand-overs throws. Otherwise it returns `false`. Default: true. */
  readonly throwsOnRecursion?: boolean | undefined
  readonly texts?: Partial<SwarmTexts> | undefined
}

export interface SwarmDeps {
  readonly transcript: TranscriptStore
  readonly records: RecordStore
  readonly bus: SwarmBus
  readonly system: Pick<System, 'now' | 'randomBytes' | 'sleep'> & { readonly log: Pick<Log, 'warn'> }
  /** The owner of these clients. */
  readonly owner: string
}

export interface OperatorPort {
  /** Asks a human and returns the answer. It may never arrive, so the swarm waits for at most `timeoutMs`. */
  ask(question: {
    readonly clientId: string
    readonly agentName: string
    readonly message: string
    readonly signal: AbortSignal
  }): Promise<string>
}

const rescueStrategies = ['flush', 'recomplete', 'custom'] as const

export type RescueStrategy = (typeof rescueStrategies)[number]

export interface AgentSpec {
  readonly agentName: string
  readonly prompt: string
  readonly systemPrompts?: readonly string[] | undefined
  readonly model: SwarmModel
  readonly tools?: readonly SwarmTool[] | undefined
  /** The number of past messages for a model. 0 means none. Default: 15. */
  readonly keepMessages?: number | undefined
  /** The maximum number of calls in one answer. Default: 1. */
  readonly maxToolCalls?: number | undefined
  /** The human who answers for this agent. Absent if a model answers. */
  readonly operator?: OperatorPort | undefined
  /** The time that the human has to answer, ms. Default: 90 000. */
  readonly operatorTimeoutMs?: number | undefined
  readonly rescue?: RescueStrategy | undefined
  readonly customRescue?: ((reason: string) => Promise<ModelAnswer>) | undefined
}

/** The names of the checks of a model's text. */
export const answerChecks = ['markup', 'json_call', 'braces'] as const

export type AnswerCheck = (typeof answerChecks)[number]

/** The default checks. `braces` is not among them, because code may contain braces. */
export const defaultAnswerChecks: readonly AnswerCheck[] = ['markup', 'json_call']

export interface ModelAnswer {
  readonly content: string
  readonly tool_calls?: readonly SwarmToolCall[] | undefined
}

export interface ToolDescription {
  readonly name: string
  readonly description: string
  /** The JSON Schema of the arguments. */
  readonly parameters: Json
}

/** A model in the form that the swarm uses. */
export interface SwarmModel {
  /** Completes a conversation. `onPiece` gets the pieces of `content` while the model writes. The swarm decides which pieces reach the user. */
  complete(
    messages: readonly SwarmMessage[],
    tools: readonly ToolDescription[],
    onPiece?: (piece: string) => void,
  ): Promise<ModelAnswer>
  /** Answers a prompt and a text outside of any conversation. Default: `complete` without tools. */
  run?(messages: readonly SwarmMessage[]): Promise<ModelAnswer>
}

export interface SwarmPolicy {
  readonly policyName: string
  /** The message that a banned client gets every time. */
  readonly banMessage: string
  readonly bansOnRefusal?: boolean | undefined
  validateInput?(message: string, clientId: string): Promise<boolean> | boolean
  validateOutput?(message: string, clientId: string): Promise<boolean> | boolean
}

/** Texts that the swarm itself sends. */
export const swarmTexts = {
  placeholders: [
    'Sorry, I missed that. Could you say it again?',
    'Could you repeat that, please?',
    'I am afraid I lost the thread. What was it?',
  ] as readonly string[],
  operatorTimeout: 'Nobody is there to answer right now. Please try again later.',
  restart: 'Something went wrong. Start again from what the user said last.',
  repeat: 'Please repeat what you would like.',
}

export type SwarmTexts = Readonly<typeof swarmTexts>

/** The actions of a running tool, on behalf of the agent that called it. */
export interface SwarmToolContext {
  readonly clientId: string
  readonly agentName: string
  readonly toolId: string
  readonly params: JsonMap
  /** The user's last message. */
  readonly lastUserMessage: string
  /** The states, storages and computed values of the client. */
  readonly data: SwarmData
  /** Commits the result of this call, once. A tool without a result has failed. */
  commitToolOutput(content: string): Promise<void>
  /** Skips the remaining calls of the turn. */
  commitStopTools(): Promise<void>
  commitFlush(): Promise<void>
  /** Changes to an agent. Returns false if the agent is unknown. @throws Rejection forbidden for a recursion */
  changeToAgent(agentName: string): Promise<boolean>
  /** Changes to the default agent. @throws Rejection forbidden for a recursion */
  changeToDefault(): Promise<boolean>
  /** Changes to the previous agent. Returns false if there is none. */
  changeToPrevious(): Promise<boolean>
  /** Lets the agent that is active after the tool continue with this text. Without this and without `emit`, the agent continues by itself. */
  execute(message: string): void
  /** Ends the turn with this text as the answer. */
  emit(content: string): void
}

export interface SwarmTool extends ToolDescription {
  /** True for a tool that hands over. Only one such tool runs in a turn. */
  readonly isNavigation?: boolean | undefined
  call(context: SwarmToolContext): Promise<void>
}
