import type { OperationInput } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'

/** A fault the person at the terminal can fix; printed as one line. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** The operator's API of one gateway. */
export interface OperatorClient {
  /** Any route of the gateway, as a peer sees it. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** One operation of the operator's API. @throws CommandError with what the gateway says */
  call<Of extends ApiOperation>(operation: Of, input: OperationInput<Of>): Promise<OperationAnswer<Of>>
  /** A long list, one JSON text a line, as it comes. */
  readLines<Of extends ApiOperation>(operation: Of, input: OperationInput<Of>): AsyncIterable<string>
  readonly isRunning: boolean
  /** It has the simulation beside it. */
  readonly isSimulating: boolean
  close(): Promise<void>
}

/** What opens the operator's API. */
export interface ApiAccess {
  /**
   * The API of the gateway that an address names; else of the one that runs on the configuration's data; else the same routes over the
   * stored data.
   */
  openClient(): Promise<OperatorClient>
}

/** Opens the API for one use of it. */
export async function withClient<Result>(
  access: ApiAccess,
  use: (client: OperatorClient) => Promise<Result>,
): Promise<Result> {
  const client = await access.openClient()
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}
