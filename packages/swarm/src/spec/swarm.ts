import type { Json, Log, Platform } from '@postern/core'
import type { JsonMap, RecordStore, SwarmMessage, SwarmToolCall, TranscriptStore } from '@postern/transcript'
import type { SwarmBus } from '../bus/bus.ts'
import type { DataSpec, SwarmData } from '../data/data.ts'

export interface SwarmSpec extends DataSpec {
  readonly swarmName: string
  readonly agents: readonly AgentSpec[]
  readonly defaultAgent: string
  readonly policies?: readonly SwarmPolicy[] | undefined
  /** Prompts before every agent's own. */
  readonly commonPrompts?: readonly string[] | undefined
  /** What no answer may contain; default: tool markup and JSON calls. */
  readonly answerChecks?: readonly AnswerCheck[] | undefined
  /** Whether a recursion of hand-overs throws (default) or returns `false`. */
  readonly throwsOnRecursion?: boolean | undefined
  readonly texts?: Partial<SwarmTexts> | undefined
}

export interface SwarmDeps {
  readonly transcript: TranscriptStore
  readonly records: RecordStore
  readonly bus: SwarmBus
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'sleep'> & { readonly log: Pick<Log, 'warn'> }
  /** The owner of these clients. */
  readonly owner: string
}

export interface OperatorPort {
  /** A human's answer. It may never come: the swarm waits for `timeoutMs`. */
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
  /** Messages of history for a model; default 15, 0 is none. */
  readonly keepMessages?: number | undefined
  /** Calls in one answer; default 1. */
  readonly maxToolCalls?: number | undefined
  /** A human answers for this agent. */
  readonly operator?: OperatorPort | undefined
  /** How long the human has; default 90 000 ms. */
  readonly operatorTimeoutMs?: number | undefined
  readonly rescue?: RescueStrategy | undefined
  readonly customRescue?: ((reason: string) => Promise<ModelAnswer>) | undefined
}

/** What to search for in a model's text. */
export const answerChecks = ['markup', 'json_call', 'braces'] as const

export type AnswerCheck = (typeof answerChecks)[number]

/** Without `braces`, because code may contain them. */
export const defaultAnswerChecks: readonly AnswerCheck[] = ['markup', 'json_call']

export interface ModelAnswer {
  readonly content: string
  readonly tool_calls?: readonly SwarmToolCall[] | undefined
}

export interface ToolDescription {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: Json
}

/** A model in the form that the swarm uses. */
export interface SwarmModel {
  /** `hear` gets the pieces of `content` while the model writes. The swarm decides what to pass on. */
  complete(
    messages: readonly SwarmMessage[],
    tools: readonly ToolDescription[],
    hear?: (piece: string) => void,
  ): Promise<ModelAnswer>
  /** Answers a prompt and a text outside of any conversation; default: as `complete` without tools. */
  run?(messages: readonly SwarmMessage[]): Promise<ModelAnswer>
}

export interface SwarmPolicy {
  readonly policyName: string
  /** The message for a banned client, every time. */
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

/** What a running tool may do, in the name of the agent that called it. */
export interface SwarmToolContext {
  readonly clientId: string
  readonly agentName: string
  readonly toolId: string
  readonly params: JsonMap
  /** The user's last message. */
  readonly lastUserMessage: string
  /** States, storages and computes of the client. */
  readonly data: SwarmData
  /** The result of this call, once. A tool without a result has failed. */
  commitToolOutput(content: string): Promise<void>
  /** Skips the further calls of the turn. */
  commitStopTools(): Promise<void>
  commitFlush(): Promise<void>
  /** @throws Rejection forbidden for a recursion; false for an unknown agent */
  changeToAgent(agentName: string): Promise<boolean>
  /** @throws Rejection forbidden for a recursion */
  changeToDefault(): Promise<boolean>
  /** False if there is no previous agent. */
  changeToPrevious(): Promise<boolean>
  /** Lets the then active agent continue with this text. Without it, and without `emit`, the agent continues by itself. */
  execute(message: string): void
  /** Ends the turn with this text as the answer. */
  emit(content: string): void
}

export interface SwarmTool extends ToolDescription {
  /** A tool that hands over. Only one of them runs in a turn. */
  readonly isNavigation?: boolean | undefined
  call(context: SwarmToolContext): Promise<void>
}
