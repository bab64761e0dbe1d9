import type { ModelAnswer, SwarmModel } from './model.ts'
import type { SwarmTool } from './tool.ts'

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
