import type { AgentInterface } from './agent-interface.ts'

export interface WireRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body: string | undefined
}

/** One binding to an agent (A2A §9, §11). */
export interface WireBinding {
  /** `A2A-Version` of its requests. */
  readonly version: string
  describe(operation: ClientOperation, params: Readonly<Record<string, unknown>>, to: AgentInterface): WireRequest
  /** The result of an answer or of one event of a stream. @throws Undeliverable when it is an error or invalid */
  readResult(document: Readonly<Record<string, unknown>>, operation: ClientOperation): unknown
}

export type ClientOperation = 'SendMessage' | 'SendStreamingMessage' | 'GetTask' | 'CancelTask'
