import type { Json, Log, Platform } from '@postern/core'
import type { JsonMap } from '../json-difference.ts'
import type { RecordStore, TranscriptStore } from '../transcript-store.ts'
import type { AnswerCheck } from './answer-checks.ts'
import type { SwarmBus } from './swarm-bus.ts'
import type { DataSpec, SwarmData } from './swarm-data.ts'
import type { SwarmMessage, SwarmToolCall } from './swarm-message.ts'

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

/** A model as the swarm sees it. */
export interface SwarmModel {
  /** `hear` may be told the pieces of `content` as they come; the swarm decides what of them is passed on. */
  complete(
    messages: readonly SwarmMessage[],
    tools: readonly ToolDescription[],
    hear?: (piece: string) => void,
  ): Promise<ModelAnswer>
  /** What it says to a prompt and words that are no part of a conversation; default: as `complete` without tools. */
  run?(messages: readonly SwarmMessage[]): Promise<ModelAnswer>
}

/** What a tool may do while it runs. Everything is done in the name of the agent that called it. */
export interface ToolContext {
  readonly clientId: string
  readonly agentName: string
  readonly toolId: string
  readonly params: JsonMap
  /** What the user said last. */
  readonly lastUserMessage: string
  /** States, storages and computes of the client. */
  readonly data: SwarmData
  /** The result of this call. Once; a tool that gives none has failed. */
  commitToolOutput(content: string): Promise<void>
  /** Leaves the turn's further calls undone. */
  commitStopTools(): Promise<void>
  commitFlush(): Promise<void>
  /** @throws Rejection forbidden for a recursion; false where there is no such agent */
  changeToAgent(agentName: string): Promise<boolean>
  /** @throws Rejection forbidden for a recursion */
  changeToDefault(): Promise<boolean>
  /** False where there is nobody to go back to. */
  changeToPrevious(): Promise<boolean>
  /** Lets the agent that is active then go on with these words. Without it, and without `emit`, it goes on by itself. */
  execute(message: string): void
  /** Ends the turn: these words are the answer. */
  emit(content: string): void
}

export interface SwarmTool extends ToolDescription {
  /** A tool that hands over: one of them runs in a turn. */
  readonly isNavigation?: boolean | undefined
  call(context: ToolContext): Promise<void>
}

export interface OperatorPort {
  /** The words of a human. May never come: the swarm waits for `timeoutMs`. */
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
  /** Messages of history a model is given; default 15, 0 is none. */
  readonly keepMessages?: number | undefined
  /** Calls run in one answer; default 1. */
  readonly maxToolCalls?: number | undefined
  /** A human answers in this agent's place. */
  readonly operator?: OperatorPort | undefined
  /** How long; default 90 000 ms. */
  readonly operatorTimeoutMs?: number | undefined
  readonly rescue?: RescueStrategy | undefined
  readonly customRescue?: ((reason: string) => Promise<ModelAnswer>) | undefined
}

export interface SwarmPolicy {
  readonly policyName: string
  /** What a banned client is told, every time. */
  readonly banMessage: string
  readonly bansOnRefusal?: boolean | undefined
  validateInput?(message: string, clientId: string): Promise<boolean> | boolean
  validateOutput?(message: string, clientId: string): Promise<boolean> | boolean
}

export interface SwarmSpec extends DataSpec {
  readonly swarmName: string
  readonly agents: readonly AgentSpec[]
  readonly defaultAgent: string
  readonly policies?: readonly SwarmPolicy[] | undefined
  /** In front of every agent's own prompts. */
  readonly commonPrompts?: readonly string[] | undefined
  /** What no answer may have in it; default: tool markup and calls written as JSON. */
  readonly answerChecks?: readonly AnswerCheck[] | undefined
  /** Whether a recursion of hand-overs is refused by an error (default) or by `false`. */
  readonly throwsOnRecursion?: boolean | undefined
  readonly texts?: Partial<SwarmTexts> | undefined
}

/** Words the swarm says by itself. */
export interface SwarmTexts {
  readonly placeholders: readonly string[]
  readonly operatorTimeout: string
  readonly restart: string
  readonly repeat: string
}

export interface SwarmDeps {
  readonly transcript: TranscriptStore
  readonly records: RecordStore
  readonly bus: SwarmBus
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'sleep'> & { readonly log: Pick<Log, 'warn'> }
  /** Whose clients these are. */
  readonly owner: string
}

export const swarmTexts: SwarmTexts = {
  placeholders: [
    'Sorry, I missed that. Could you say it again?',
    'Could you repeat that, please?',
    'I am afraid I lost the thread. What was it?',
  ],
  operatorTimeout: 'Nobody is there to answer right now. Please try again later.',
  restart: 'Something went wrong. Start again from what the user said last.',
  repeat: 'Please repeat what you would like.',
}
