import { toTerminalLine } from '../terminal/text.ts'
import type { approvalOperations } from './approvals/route.ts'
import type { banOperations } from './bans/route.ts'
import type { ClientOpener } from './client.ts'
import type { Output } from './context.ts'

interface Ending {
  readonly operation: typeof approvalOperations.revoke | typeof banOperations.lift
  readonly agent: string
  readonly id: string
  readonly said: string
}

/** Ends one of what is listed for an agent, and says so. */
export async function endListed(
  openClient: ClientOpener,
  output: Output,
  { operation, agent, id, said }: Ending,
): Promise<void> {
  const client = await openClient()
  try {
    await client.call(operation, { parameters: { agent, id } })
    output.print(`${toTerminalLine(id)}: ${said}`)
  } finally {
    await client.close()
  }
}
