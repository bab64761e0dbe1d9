// Calls the operator's API for a command, and reports the gateway's refusals as errors of the command.
import type { OperationInput } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'

/** An error that the person at the terminal can fix. The command prints it as one line. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** The operator's API of one gateway. */
export interface OperatorClient {
  /** Fetches any route of the gateway, as a peer does. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** Calls one operation of the operator’s API. @throws CommandError with the gateway’s own message */
  call<Operation extends ApiOperation>(
    operation: Operation,
    input: OperationInput<Operation>,
  ): Promise<OperationAnswer<Operation>>
  /** Yields the lines of a long answer as they arrive, each of them one JSON text. */
  readLines<Operation extends ApiOperation>(
    operation: Operation,
    input: OperationInput<Operation>,
  ): AsyncIterable<string>
  readonly isRunning: boolean
  /** True if the gateway runs with the simulation. */
  readonly isSimulating: boolean
  close(): Promise<void>
}

/** Opens the operator’s API for a command. */
export interface ApiAccess {
  /**
   * Opens the API of the gateway at the given address, or of the one that runs on the configured data. If no gateway runs, the same routes
   * work on the stored data.
   */
  openClient(): Promise<OperatorClient>
}

/** Opens the API, uses it once, and closes it. */
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
