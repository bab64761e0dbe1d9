import type { OperationInput } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'
import type { ClientOpener } from './client.ts'
import type { Output } from './context.ts'

interface Asked<Of extends ApiOperation> {
  readonly operation: Of
  readonly input: OperationInput<Of>
}

/** Asks the operator's API one thing and prints it, for people or as JSON. */
export async function printAnswer<Of extends ApiOperation>(
  openClient: ClientOpener,
  output: Output,
  { operation, input }: Asked<Of>,
  format: (answer: OperationAnswer<Of>) => string,
): Promise<void> {
  const client = await openClient()
  try {
    const answer = await client.call(operation, input)
    output.print(output.json ? JSON.stringify(answer, null, 2) : format(answer))
  } finally {
    await client.close()
  }
}
