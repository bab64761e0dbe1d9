import type { OperationInput } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'
import type { Config } from '../config/schema.ts'

/** A fault the person at the terminal can fix; printed as one line. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

export interface OperatorClient {
  readonly config: Config
  /** The data folder. */
  readonly directory: string
  /** Any route of the gateway, as a peer sees it. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  request(path: string, init?: { readonly method?: string; readonly body?: unknown }): Promise<unknown>
  /** One operation of the operator's API. @throws CommandError with what the gateway says */
  call<Of extends ApiOperation>(operation: Of, input: OperationInput<Of>): Promise<OperationAnswer<Of>>
  /** A long list, one JSON text a line, as it comes. */
  readLines(path: string): AsyncIterable<string>
  readonly isRunning: boolean
  /** It has the simulation beside it. */
  readonly isSimulating: boolean
  close(): Promise<void>
}

/** The operator API of the running gateway; without one, the same routes over the stored data. */
export type ClientOpener = () => Promise<OperatorClient>
